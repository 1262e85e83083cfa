-- The versions in force of the passports that a passport follows, held in one order.
SELECT v.passport_version_id, v.passport_id, v.status, v.law_date, v.issued_at, v.created_at, v.payload_hash,
       v.proof_root_hash, v.receipt_hash, v.signing_key_id, v.signature, v.qr_payload
FROM passport_predecessors AS r
JOIN passport_versions AS v ON v.tenant_id = r.tenant_id AND v.passport_id = r.predecessor_id
WHERE r.tenant_id = %(tenant_id)s AND r.passport_id = %(passport_id)s AND v.status = 'ACTIVE'
ORDER BY v.passport_version_id
FOR UPDATE OF v
