-- A facility by name.
SELECT facility_id, operator_id, name, address, identifiers
FROM facilities WHERE tenant_id = %(tenant_id)s AND name = %(name)s
