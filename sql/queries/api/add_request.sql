-- Nothing comes back when there is a call with this key; one that is still at work is waited for.
INSERT INTO api_requests (api_request_id, tenant_id, actor_id, idempotency_key, request_hash)
VALUES (%(api_request_id)s, %(tenant_id)s, %(actor_id)s, %(idempotency_key)s, %(request_hash)s)
ON CONFLICT DO NOTHING
RETURNING api_request_id
