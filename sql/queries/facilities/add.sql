-- Nothing comes back when the name was there already.
INSERT INTO facilities (tenant_id, operator_id, name, address, identifiers)
VALUES (%(tenant_id)s, %(operator_id)s, %(name)s, %(address)s::jsonb, %(identifiers)s::jsonb)
ON CONFLICT DO NOTHING
RETURNING facility_id
