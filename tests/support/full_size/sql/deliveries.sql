INSERT INTO webhook_deliveries (webhook_delivery_id, tenant_id, webhook_endpoint_id, event_id, event_type, body, status,
                                http_status, response_body, delivered_at, error_message, created_at)
SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - %(count)s + n), 12, '0') || '7000'
        || '8' || lpad(to_hex(n), 15, '0'))::uuid,
       e.tenant_id, e.webhook_endpoint_id, md5('event ' || n)::uuid, 'PASSPORT_SIGNED', '{"generated":true}',
       CASE WHEN n %% 20 = 0 THEN 'FAILED' ELSE 'DELIVERED' END, CASE WHEN n %% 20 = 0 THEN 503 ELSE 200 END,
       CASE WHEN n %% 20 = 0 THEN 'Service Unavailable'::bytea END, CASE WHEN n %% 20 > 0 THEN now() END,
       CASE WHEN n %% 20 = 0 THEN 'WEBHOOK_FAILED: answered 503' END, now() - n * interval '1 second'
FROM generate_series(1, %(count)s) AS n
JOIN webhook_endpoints AS e ON e.webhook_endpoint_id = md5('endpoint ' || 1 + n %% 5)::uuid
