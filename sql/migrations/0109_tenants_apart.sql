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

-- `jobs` has no such policy: claims and settles go over all tenants, and COPY would be refused. Whoever speaks for one
-- tenant sees its jobs by this view, and queues by it. It is a barrier: no function in a WHERE meets a row of another's.
CREATE VIEW own_jobs WITH (security_barrier = true) AS
SELECT job_id, tenant_id, type, queue, status, priority, payload, attempts, max_attempts, snoozes, scheduled_at, created_at,
       started_at, finished_at, last_error, fail_code, fail_reason, stage, progress, expected_duration_ms, idempotency_key,
       spec_hash, result, parent_job_id, correlation_id, traceparent, cancel_requested_at
FROM jobs
WHERE tenant_id = bpc_tenant()
WITH CASCADED CHECK OPTION;

GRANT SELECT ON own_jobs TO bpc_worker, bpc_app;
GRANT SELECT (job_id, status, tenant_id, type, idempotency_key) ON own_jobs TO bpc_producer;
GRANT INSERT (job_id, tenant_id, type, queue, priority, payload, max_attempts, scheduled_at, expected_duration_ms,
              idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent)
  ON own_jobs TO bpc_worker, bpc_producer, bpc_app;
