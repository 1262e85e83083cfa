-- Nothing comes back when the name was there already.
INSERT INTO operators (tenant_id, name, address, contact, web, identifiers)
VALUES (%(tenant_id)s, %(name)s, %(address)s::jsonb, %(contact)s, %(web)s, %(identifiers)s::jsonb)
ON CONFLICT DO NOTHING
RETURNING operator_id
