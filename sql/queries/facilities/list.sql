-- All facilities, by name, with the names of their operators.
SELECT f.facility_id, f.operator_id, f.name, f.address, f.identifiers, o.name AS operator
FROM facilities AS f JOIN operators AS o USING (tenant_id, operator_id)
WHERE f.tenant_id = %(tenant_id)s ORDER BY f.name
