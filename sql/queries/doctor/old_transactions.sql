-- Who has had a transaction open for long: nothing that died since can be cleaned away.
SELECT a.pid, coalesce(a.usename, '')::text AS login, coalesce(a.application_name, '') AS program,
       coalesce(a.client_addr::text, 'a local socket') AS client, coalesce(a.state, 'unknown') AS state,
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds
FROM pg_stat_activity AS a
WHERE a.xact_start < clock_timestamp() - make_interval(secs => %(stale)s)
  AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
ORDER BY a.xact_start
LIMIT 20
