-- Every version, newest first; of one passport where one is named.
SELECT v.passport_version_id, v.passport_id, v.status, v.law_date, v.issued_at, v.created_at, v.payload_hash,
       v.proof_root_hash, v.receipt_hash, v.signing_key_id, v.signature, v.qr_payload, p.serial, b.identifier AS product
FROM passport_versions AS v
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
WHERE v.tenant_id = %(tenant_id)s
  AND (%(passport_id)s::uuid IS NULL OR v.passport_id = %(passport_id)s::uuid)
  AND (%(status)s::text IS NULL OR v.status = %(status)s::text)
ORDER BY v.created_at DESC, v.issued_at DESC, v.passport_version_id
LIMIT %(limit)s::bigint
