-- What signing and drawing need; the large parts stay where they are.
SELECT passport_version_id, passport_id, status, law_date, issued_at, created_at, payload_hash, proof_root_hash,
       receipt_hash, signing_key_id, signature, qr_payload
FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s
