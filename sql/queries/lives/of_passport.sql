-- What became of a battery, the oldest first.
SELECT l.passport_life_id, l.passport_id, l.status, o.name AS operator, l.reason, l.created_at
FROM passport_lives AS l LEFT JOIN operators AS o USING (tenant_id, operator_id)
WHERE l.tenant_id = %(tenant_id)s AND l.passport_id = %(passport_id)s
ORDER BY l.created_at, l.passport_life_id
