-- The same of those that have a version in this status: it is looked up first, as those may be few among many.
WITH found AS MATERIALIZED (
  SELECT DISTINCT v.passport_id
  FROM passport_versions AS v JOIN passports AS p USING (tenant_id, passport_id)
  WHERE v.tenant_id = %(tenant_id)s AND v.status = %(status)s
    AND v.passport_id > coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000')
    AND (%(battery_product_id)s::uuid IS NULL OR p.battery_product_id = %(battery_product_id)s)
  ORDER BY v.passport_id
  LIMIT %(limit)s::bigint
)
SELECT p.passport_id, b.identifier AS product, p.serial, p.granularity, p.unique_identifier, p.created_at,
       (SELECT v.passport_version_id FROM passport_versions AS v
        WHERE v.passport_id = p.passport_id AND v.status = 'ACTIVE') AS version_in_force,
       newest.passport_version_id AS newest_version, newest.status AS newest_status
FROM found
JOIN passports AS p USING (passport_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
LEFT JOIN LATERAL (
  SELECT v.passport_version_id, v.status FROM passport_versions AS v
  WHERE v.tenant_id = p.tenant_id AND v.passport_id = p.passport_id
  ORDER BY v.created_at DESC, v.issued_at DESC, v.passport_version_id
  LIMIT 1
) AS newest ON true
WHERE p.tenant_id = %(tenant_id)s
ORDER BY p.passport_id
