-- Which of these jobs, builds and documents have come to their end: asked once for all who wait.
SELECT job_id AS id FROM jobs
WHERE job_id = ANY (%(jobs)s::uuid[]) AND status IN ('SUCCEEDED', 'FAILED', 'CANCELLED', 'DEAD_LETTER')
UNION ALL
SELECT build_id FROM passport_builds WHERE build_id = ANY (%(builds)s::uuid[]) AND state IN ('DONE', 'STOPPED')
UNION ALL
SELECT document_version_id FROM document_versions
WHERE document_version_id = ANY (%(documents)s::uuid[]) AND status <> 'UPLOADED'
