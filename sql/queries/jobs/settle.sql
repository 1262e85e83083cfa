-- Write how an attempt ended, with its event; a row that somebody has locked is waited for. Zero rows: the lease is no
-- longer ours, so nothing may be kept.
-- With or_fail, zero rows are an error (a division by zero): a COMMIT that is already on its way keeps nothing then.
WITH ends AS (
-- include: told
),
-- include: settled
,
-- include: noted
SELECT status, attempts FROM settled
UNION ALL
SELECT NULL, 1 / count(*)::integer FROM settled HAVING %(or_fail)s::boolean AND count(*) = 0
