-- Transactions that were prepared and then forgotten: they hold their locks for ever.
SELECT p.gid, p.owner::text AS login, p.database::text AS database,
       extract(epoch FROM clock_timestamp() - p.prepared)::float8 AS seconds
FROM pg_prepared_xacts AS p
WHERE p.prepared < clock_timestamp() - make_interval(secs => %(stale)s)
ORDER BY p.prepared
LIMIT 20
