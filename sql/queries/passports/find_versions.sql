-- What the id of a version, the id of a passport or a serial number means: the newest version of each passport found.
SELECT DISTINCT ON (v.passport_id)
       v.passport_version_id, v.passport_id, v.status, v.law_date, v.issued_at, v.created_at, v.payload_hash,
       v.proof_root_hash, v.receipt_hash, v.signing_key_id, v.signature, v.qr_payload, p.serial, b.identifier AS product
FROM passport_versions AS v
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE v.tenant_id = %(tenant_id)s AND v.passport_version_id IN (
  SELECT %(id)s::uuid
  UNION ALL
  SELECT passport_version_id FROM passport_versions WHERE tenant_id = %(tenant_id)s AND passport_id = %(id)s::uuid
  UNION ALL
  SELECT named.passport_version_id
  FROM passports JOIN passport_versions AS named USING (tenant_id, passport_id)
  WHERE passports.tenant_id = %(tenant_id)s AND passports.serial = %(wanted)s)
ORDER BY v.passport_id, v.created_at DESC, v.issued_at DESC, v.passport_version_id
