-- Whose keys are looked at.
SELECT t.tenant_id, t.name FROM tenants AS t ORDER BY t.name LIMIT 200
