-- What died, by type and reason.
SELECT j.type, coalesce(j.fail_code, '') AS code, count(*)::bigint AS jobs, max(j.finished_at)::text AS latest
FROM jobs AS j
WHERE j.status = 'DEAD_LETTER'
GROUP BY j.type, j.fail_code
ORDER BY count(*) DESC, j.type
LIMIT 20
