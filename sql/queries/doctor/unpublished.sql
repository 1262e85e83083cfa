-- How many versions of the tenant that the transaction has named are in force and not published.
SELECT count(*)
FROM passport_versions AS v
WHERE v.tenant_id = bpc_tenant() AND v.status = 'ACTIVE'
  AND NOT EXISTS (SELECT FROM public_passports AS p WHERE p.passport_version_id = v.passport_version_id)
