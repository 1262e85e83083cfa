-- The call with this key, and what was answered.
SELECT api_request_id, request_hash, status, answer FROM api_requests
WHERE tenant_id = %(tenant_id)s AND actor_id = %(actor_id)s AND idempotency_key = %(idempotency_key)s
