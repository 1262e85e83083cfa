-- What is told about an operator from now on.
UPDATE operators
SET name = %(name)s, address = %(address)s::jsonb, contact = %(contact)s, web = %(web)s,
    identifiers = %(identifiers)s::jsonb
WHERE tenant_id = %(tenant_id)s AND operator_id = %(operator_id)s
