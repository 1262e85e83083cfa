-- The settings of this session that decide whether jobs can be lost or stuck, and who set them.
SELECT name, setting, coalesce(unit, '') AS unit, source
FROM pg_settings
WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
               'default_transaction_read_only', 'default_transaction_isolation', 'synchronous_commit', 'fsync',
               'full_page_writes', 'session_replication_role', 'row_security')
ORDER BY name
