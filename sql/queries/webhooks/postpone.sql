-- While nobody may call an endpoint, what is due for it waits together: to claim each of thousands only to put it off
-- would hold up the deliveries to others behind them. The conditions are those of the index jobs_probe. The ids are
-- cast before the join: row level security lets only what cannot leak look into an index.
WITH due AS MATERIALIZED (
  SELECT job_id, CASE WHEN idempotency_key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                 THEN idempotency_key::uuid END AS webhook_delivery_id
  FROM jobs
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
    AND queue = %(queue)s AND type = 'DELIVER_WEBHOOK' AND priority = 3 AND scheduled_at <= now()
  ORDER BY scheduled_at, job_id
  LIMIT 1000
)
UPDATE jobs
SET scheduled_at = clock_timestamp() + make_interval(secs => %(seconds)s::double precision)
WHERE job_id = ANY (ARRAY(
  SELECT jobs.job_id
  FROM due JOIN webhook_deliveries AS d USING (webhook_delivery_id) JOIN jobs USING (job_id)
  WHERE d.tenant_id = %(tenant_id)s AND d.webhook_endpoint_id = %(webhook_endpoint_id)s
  FOR UPDATE OF jobs SKIP LOCKED))
  AND status = 'QUEUED'
