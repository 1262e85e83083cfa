-- The rates that processes share.
SELECT key, per_second, burst, tokens, updated_at FROM rate_limits ORDER BY key LIMIT 100
