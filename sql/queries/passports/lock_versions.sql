-- Every version of a passport, held in one order: who activates or revokes one of them has them to himself.
SELECT passport_version_id, passport_id, status, law_date, issued_at, created_at, payload_hash, proof_root_hash,
       receipt_hash, signing_key_id, signature, qr_payload
FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_id = %(passport_id)s
ORDER BY passport_version_id
FOR UPDATE
