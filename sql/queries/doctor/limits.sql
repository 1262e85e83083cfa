-- How many connections there may be, and are.
SELECT current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
         - coalesce(current_setting('reserved_connections', true), '0')::integer AS usable,
       (SELECT sum(d.numbackends)::integer FROM pg_stat_database AS d) AS used,
       (SELECT d.datconnlimit FROM pg_database AS d WHERE d.datname = current_database()) AS database_limit,
       -- behind a pooler a transaction is marked by a number
       (SELECT count(DISTINCT regexp_replace(a.application_name, ' #[0-9]+$', ''))::integer FROM pg_stat_activity AS a
        WHERE a.application_name LIKE 'bpc-worker %' AND a.pid <> pg_backend_pid()) AS workers
