-- The versions of a passport, newest first; one of them where it is named.
SELECT v.passport_version_id, v.passport_id, v.status, v.law_date, v.issued_at, v.created_at, v.receipt_hash,
       v.signing_key_id, v.qr_payload, k.name || '@' || r.version AS rules
FROM passport_versions AS v
JOIN rule_package_versions AS r USING (tenant_id, rule_package_version_id)
JOIN rule_packages AS k USING (tenant_id, rule_package_id)
WHERE v.tenant_id = %(tenant_id)s AND v.passport_id = %(passport_id)s
  AND (%(passport_version_id)s::uuid IS NULL OR v.passport_version_id = %(passport_version_id)s)
ORDER BY v.created_at DESC, v.issued_at DESC, v.passport_version_id
