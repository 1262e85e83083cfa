-- What was asked for many of the tenant's own at once, the newest first.
SELECT bulk_act_id, act, job_status, type, code, fingerprint, died_before, counted, touched, status, asked_by, asked_at,
       stopped_by, finished_at, tenant_id
FROM own_bulk_acts
WHERE (%(bulk_act_id)s::uuid IS NULL OR bulk_act_id = %(bulk_act_id)s)
ORDER BY bulk_act_id DESC LIMIT %(limit)s
