-- Everything that is kept of a version but the seed of its salts, which no page needs.
SELECT v.passport_version_id, v.tenant_id, v.passport_id, v.snapshot_id, v.rule_package_version_id,
       v.compiler_build_id, v.law_date, v.issued_at, v.status, v.payload, v.proof, v.receipt, v.payload_hash,
       v.proof_root_hash, v.unique_identifier, v.status_list, v.status_idx, v.fields, v.disclosures, v.gaps,
       v.receipt_hash, ''::bytea AS disclosure_seed, v.signing_key_id, v.signature, v.view_signature, v.public_key, v.qr_payload, v.qr_png,
       v.created_at, p.battery_product_id, p.serial, p.granularity, p.unique_identifier AS passport_identifier,
       b.identifier AS product, s.canonical AS snapshot, s.snapshot_hash, r.dsl, r.dsl_sha256, r.tests_sha256,
       k.name AS rules_name, coalesce(told.status_since, v.issued_at) AS status_since
FROM passport_versions AS v
JOIN passports AS p USING (tenant_id, passport_id)
JOIN battery_products AS b USING (tenant_id, battery_product_id)
JOIN data_snapshots AS s USING (tenant_id, snapshot_id)
JOIN rule_package_versions AS r USING (tenant_id, rule_package_version_id)
JOIN rule_packages AS k USING (tenant_id, rule_package_id)
CROSS JOIN LATERAL (
  SELECT max(e.occurred_at) AS status_since FROM events AS e
  WHERE e.tenant_id = v.tenant_id AND e.aggregate_type = 'passport' AND e.aggregate_id = v.passport_id
    AND e.event_type IN ('PASSPORT_SIGNED', 'PASSPORT_ACTIVATED', 'PASSPORT_SUPERSEDED', 'PASSPORT_REVOKED')
    AND e.payload ->> 'passport_version_id' = v.passport_version_id::text) AS told
WHERE v.tenant_id = %(tenant_id)s AND v.passport_version_id = %(passport_version_id)s
