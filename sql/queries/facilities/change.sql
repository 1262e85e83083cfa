-- What is told about a facility from now on.
UPDATE facilities
SET operator_id = %(operator_id)s, name = %(name)s, address = %(address)s::jsonb, identifiers = %(identifiers)s::jsonb
WHERE tenant_id = %(tenant_id)s AND facility_id = %(facility_id)s
