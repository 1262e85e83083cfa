-- An endpoint; its secret is sealed already, for this id.
INSERT INTO webhook_endpoints (webhook_endpoint_id, tenant_id, url, max_attempts, secret, public_key)
VALUES (%(webhook_endpoint_id)s, %(tenant_id)s, %(url)s, %(max_attempts)s, %(secret)s, %(public_key)s)
