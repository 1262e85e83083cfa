-- For how long the oldest transaction that this login can see keeps dead rows from being cleaned away.
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::double precision AS seconds
FROM pg_stat_activity
WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()
