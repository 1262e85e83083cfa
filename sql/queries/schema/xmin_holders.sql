-- Who keeps dead rows of this database from being cleaned away: open transactions, prepared ones that nobody ends, slots
-- that nobody reads from, standbys that tell what they still read. Since when, where the server says so to this login.
SELECT CASE WHEN pid IN (SELECT pid FROM pg_stat_replication) THEN 'standby' ELSE 'transaction' END AS kind,
       backend_xmin::text AS xmin, age(backend_xmin) AS age,
       extract(epoch FROM clock_timestamp() - xact_start)::double precision AS seconds
FROM pg_stat_activity
WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND coalesce(datname, current_database()) = current_database()
UNION ALL
SELECT 'prepared', transaction::text, age(transaction),
       extract(epoch FROM clock_timestamp() - prepared)::double precision
FROM pg_prepared_xacts
WHERE database = current_database()
UNION ALL
SELECT 'slot', coalesce(xmin, catalog_xmin)::text, age(coalesce(xmin, catalog_xmin)), NULL
FROM pg_replication_slots
WHERE coalesce(xmin, catalog_xmin) IS NOT NULL
