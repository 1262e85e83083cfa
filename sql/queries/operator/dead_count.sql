-- How many dead letters an action would touch, by kind.
SELECT type, fail_code, count(*) AS count, min(finished_at) AS oldest, max(finished_at) AS newest
FROM bpc_dead_letters(%(type)s, %(code)s, %(tenant_id)s, %(since)s, %(before)s, %(failed_too)s)
GROUP BY type, fail_code
ORDER BY count DESC, type, fail_code
