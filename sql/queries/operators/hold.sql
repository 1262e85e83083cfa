-- An operator by name, held until the transaction ends.
SELECT operator_id, name, address, contact, web, identifiers
FROM operators WHERE tenant_id = %(tenant_id)s AND name = %(name)s
FOR UPDATE
