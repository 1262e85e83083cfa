-- Tenants see nothing of one another: rows of a tenant are those of the one that the transaction has named.
-- Former release: keeps working.
-- Functions first: tenants

DO $$
DECLARE
  domain_table text;
BEGIN
  FOREACH domain_table IN ARRAY ARRAY[
    'events', 'event_heads', 'event_leaves', 'event_leaf_heads',
    'blobs', 'documents', 'document_versions', 'facts', 'fact_sources', 'data_snapshots', 'snapshot_items',
    'rule_packages', 'rule_package_versions', 'rule_tests_runs', 'battery_products', 'passports', 'signing_keys',
    'passport_versions', 'passport_builds', 'passport_build_documents',
    'webhook_endpoints', 'webhook_subscriptions', 'webhook_deliveries']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', domain_table);
    EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant_id = bpc_tenant())', domain_table);
    EXECUTE format('GRANT SELECT ON %I TO bpc_worker, bpc_app', domain_table);
    -- Of these two they see some columns: neither what salts are made from, nor what opens an endpoint.
    IF domain_table NOT IN ('passport_versions', 'webhook_endpoints') THEN
      EXECUTE format('GRANT SELECT ON %I TO bpc_operator, bpc_reader', domain_table);
    END IF;
  END LOOP;
END
$$;
