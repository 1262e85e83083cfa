-- A page of signed versions whose views the public door does not have, or all of them.
SELECT v.passport_version_id
FROM passport_versions AS v
WHERE v.tenant_id = %(tenant_id)s AND v.passport_version_id > %(after)s AND v.status <> 'COMPILING'
  AND (%(all)s OR NOT EXISTS (SELECT FROM public_passports AS p WHERE p.passport_version_id = v.passport_version_id))
ORDER BY v.passport_version_id
LIMIT %(page)s
