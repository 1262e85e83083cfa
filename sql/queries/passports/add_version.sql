-- Nothing comes back when it was compiled before.
INSERT INTO passport_versions (
  passport_version_id, tenant_id, passport_id, snapshot_id, rule_package_version_id, compiler_build_id, law_date,
  issued_at, payload, proof, receipt, payload_hash, proof_root_hash, unique_identifier, status_list, status_idx, fields,
  disclosures, gaps, receipt_hash, disclosure_seed, signing_key_id)
VALUES (
  %(passport_version_id)s, %(tenant_id)s, %(passport_id)s, %(snapshot_id)s, %(rule_package_version_id)s,
  %(compiler_build_id)s, %(law_date)s, %(issued_at)s, %(payload)s, %(proof)s, %(receipt)s, %(payload_hash)s,
  %(proof_root_hash)s, %(unique_identifier)s, %(status_list)s, %(status_idx)s, %(fields)s, %(disclosures)s,
  %(gaps)s, %(receipt_hash)s, %(disclosure_seed)s, %(signing_key_id)s)
ON CONFLICT DO NOTHING
RETURNING passport_version_id
