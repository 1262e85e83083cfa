-- A version with everything that was compiled, and its signatures.
SELECT passport_version_id, tenant_id, passport_id, snapshot_id, rule_package_version_id, compiler_build_id, status,
       law_date, issued_at, created_at, payload, proof, receipt, payload_hash, proof_root_hash, unique_identifier,
       status_list, status_idx, fields, disclosures, gaps, receipt_hash, disclosure_seed, signing_key_id, signature,
       view_signature, qr_payload
FROM passport_versions
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s
