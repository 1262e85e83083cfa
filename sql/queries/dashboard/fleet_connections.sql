-- Who is connected to this database, by what it calls itself.
SELECT regexp_replace(coalesce(application_name, ''), '[0-9a-f-]{8,}|[0-9]+', '…', 'g') AS application, usename::text AS login,
       count(*) AS connections
FROM pg_stat_activity
WHERE datname = current_database()
GROUP BY 1, 2
ORDER BY 3 DESC, 1, 2
LIMIT 50
