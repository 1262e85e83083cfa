-- The jobs that a build rests on now, as far as they are there, by their keys: not those of an earlier try. The keys become
-- texts first: only what cannot leak looks into an index behind the view.
WITH keys AS MATERIALIZED (
  SELECT 'INGEST_DOCUMENT' AS type, concat_ws(' ', d.build_id, d.external_ref, d.sent) AS key, d.external_ref AS file
  FROM passport_build_documents AS d
  WHERE d.tenant_id = %(tenant_id)s AND d.build_id = %(build_id)s
  UNION ALL
  SELECT step.type, step.key, NULL
  FROM passport_builds AS b
  CROSS JOIN LATERAL (VALUES
    ('BUILD_SNAPSHOT', b.snapshot_id::text),
    ('COMPILE_PASSPORT', concat_ws(' ', b.build_id, b.snapshot_id)),
    ('SIGN_PASSPORT', concat_ws(' ', b.passport_version_id, b.build_id)),
    ('GENERATE_QR', concat_ws(' ', b.passport_version_id, b.build_id))) AS step (type, key)
  WHERE b.tenant_id = %(tenant_id)s AND b.build_id = %(build_id)s
),
first AS MATERIALIZED (
  SELECT keys.file, j.* FROM keys CROSS JOIN LATERAL (
    SELECT own.* FROM own_jobs AS own
    WHERE own.tenant_id = %(tenant_id)s AND own.type = keys.type AND own.idempotency_key = keys.key
    LIMIT 1
  ) AS j
),
followers AS MATERIALIZED (
  SELECT file, concat('after ', job_id) AS key FROM first WHERE type = 'INGEST_DOCUMENT'
)
SELECT file, job_id, type, status, attempts, max_attempts, created_at, started_at, finished_at, fail_code, fail_reason
FROM first
UNION ALL
SELECT followers.file, j.job_id, j.type, j.status, j.attempts, j.max_attempts, j.created_at, j.started_at, j.finished_at,
       j.fail_code, j.fail_reason
FROM followers CROSS JOIN LATERAL (
  SELECT own.* FROM own_jobs AS own
  WHERE own.tenant_id = %(tenant_id)s AND own.type = 'PARSE_FACTS' AND own.idempotency_key = followers.key
  LIMIT 1
) AS j
ORDER BY created_at, job_id
