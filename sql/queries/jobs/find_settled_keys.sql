-- Of these idempotency keys those whose job never runs again.
SELECT wanted.tenant_id, wanted.idempotency_key
FROM unnest(%(tenant_ids)s::uuid[], %(idempotency_keys)s::text[]) AS wanted (tenant_id, idempotency_key)
JOIN jobs USING (tenant_id, idempotency_key)
WHERE jobs.type = %(type)s AND jobs.status IN ('SUCCEEDED', 'CANCELLED')
