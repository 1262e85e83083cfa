-- What the registry has confirmed; no row where it was known.
INSERT INTO registrations (passport_version_id, tenant_id, passport_id, registration_id, registered_at, proof_sha256)
VALUES (%(passport_version_id)s, %(tenant_id)s, %(passport_id)s, %(registration_id)s, %(registered_at)s, %(proof_sha256)s)
ON CONFLICT DO NOTHING
RETURNING registration_id
