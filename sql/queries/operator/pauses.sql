-- What is paused now.
SELECT pause.kind, pause.name, tenants.name AS tenant, pause.reason, pause.paused_by, pause.paused_at, pause.expires_at
FROM job_pauses AS pause LEFT JOIN tenants ON pause.kind = 'tenant' AND tenants.tenant_id::text = pause.name
WHERE pause.expires_at IS NULL OR pause.expires_at > clock_timestamp()
ORDER BY pause.kind, pause.name
