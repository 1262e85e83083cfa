SELECT v.receipt, v.fields, p.view
FROM passport_versions AS v JOIN public_passports AS p USING (passport_version_id)
WHERE v.passport_version_id = %s
