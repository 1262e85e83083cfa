-- All operators, by name.
SELECT operator_id, name, address, contact, web, identifiers
FROM operators WHERE tenant_id = %(tenant_id)s ORDER BY name
