-- A page of dead letters, the newest first; after one of them, the next.
SELECT d.job_id, t.name AS tenant, d.status, d.type, d.queue, d.code, d.fingerprint, left(d.message, 300) AS message,
       d.attempts, d.max_attempts, d.created_at, d.finished_at
FROM bpc_dead_page(
  %(tenant_id)s::uuid, %(status)s::text, %(type)s::text, %(code)s::text, %(fingerprint)s::text, NULL,
  %(before)s::timestamptz, %(after_at)s::timestamptz, %(after_id)s::uuid, %(page)s) AS d
JOIN tenants AS t USING (tenant_id)
ORDER BY d.finished_at DESC, d.job_id DESC
