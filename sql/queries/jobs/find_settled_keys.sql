-- Of these idempotency keys of a tenant those whose job never runs again.
SELECT tenant_id, idempotency_key
FROM own_jobs
WHERE tenant_id = %(tenant_id)s AND type = %(type)s AND idempotency_key = ANY (%(idempotency_keys)s::text[])
  AND status IN ('SUCCEEDED', 'CANCELLED')
