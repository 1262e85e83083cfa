-- Tokens that were taken a moment ago and not used (sql/functions/rate_limits.sql).
SELECT bpc_give_back_tokens(%(types)s::text[], %(unused)s::integer[])
