INSERT INTO webhook_endpoints (webhook_endpoint_id, tenant_id, url, secret, public_key, status, disabled_at, disabled_reason)
SELECT md5('endpoint ' || n)::uuid, tenant_id, 'https://hooks-' || n || '.example/in', '\x00', sha256(n::text::bytea),
       CASE WHEN n = 3 THEN 'DISABLED' ELSE 'ACTIVE' END, CASE WHEN n = 3 THEN now() END,
       CASE WHEN n = 3 THEN 'it failed for five days' END
FROM generate_series(1, 5) AS n CROSS JOIN (SELECT tenant_id FROM tenants ORDER BY created_at LIMIT 1) AS first
