-- The newest version of any battery of a model: what it was made from stands for the others.
SELECT v.passport_version_id
FROM passport_versions AS v
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE v.tenant_id = %(tenant_id)s AND (b.identifier = %(wanted)s OR b.model_identifier = %(wanted)s)
ORDER BY v.created_at DESC, v.issued_at DESC, v.passport_version_id
LIMIT 1
