-- Dead letters by cause, what a tenant sees of its own, and acts on many of them that outlive the process that was asked.
-- Former release: keeps working.
-- Functions first: fingerprints, ids, tenants

-- By cause, and in it by time; of one tenant the same. Both hold only what is dead.
CREATE INDEX jobs_dead_cause ON jobs (
  status, type, (left(coalesce(fail_code, ''), 100)), (bpc_fingerprint(last_error ->> 'message')), finished_at, job_id
) WHERE status IN ('DEAD_LETTER', 'FAILED');
CREATE INDEX jobs_dead_of_tenant ON jobs (
  tenant_id, status, type, (left(coalesce(fail_code, ''), 100)), (bpc_fingerprint(last_error ->> 'message')),
  finished_at, job_id
) WHERE status IN ('DEAD_LETTER', 'FAILED');
-- The jobs of a build, or of whatever a caller calls one thing. Most jobs have none, and no entry.
CREATE INDEX jobs_correlation ON jobs (correlation_id, job_id) WHERE correlation_id IS NOT NULL;
-- What a person looks for, whoever's it is.
CREATE INDEX passports_serial ON passports (serial);
CREATE INDEX documents_name ON documents (external_ref);
CREATE INDEX battery_products_identifier ON battery_products (identifier);
CREATE INDEX battery_products_gtin ON battery_products (gtin) WHERE gtin IS NOT NULL;
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event_id);
CREATE INDEX webhook_endpoints_trouble ON webhook_endpoints (webhook_endpoint_id)
  WHERE status = 'DISABLED' OR failing_since IS NOT NULL;
CREATE INDEX passport_builds_open ON passport_builds (state, build_id) WHERE state <> 'DONE';

CREATE VIEW dead_jobs AS
SELECT job_id, tenant_id, type, queue, status, priority, attempts, max_attempts, created_at, scheduled_at, started_at,
       finished_at, correlation_id, left(coalesce(fail_code, ''), 100) AS code,
       bpc_fingerprint(last_error ->> 'message') AS fingerprint, last_error ->> 'message' AS message
FROM jobs
WHERE status IN ('DEAD_LETTER', 'FAILED');
GRANT SELECT ON dead_jobs TO bpc_operator, bpc_reader;

-- What happened to the jobs of the tenant that the transaction has named, behind a barrier like own_jobs.
CREATE VIEW own_job_events WITH (security_barrier = true) AS
SELECT job_event_id, job_id, at, job_events.type, data
FROM job_events JOIN jobs USING (job_id)
WHERE jobs.tenant_id = bpc_tenant();
GRANT SELECT ON own_job_events TO bpc_app;

-- Retry or discard all dead letters that match. Whichever server has the lease carries one out, a page at a time, and counts
-- in the transaction that acts. What dies after `died_before` is none of its business.
CREATE TABLE bulk_acts (
  bulk_act_id      uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id        uuid REFERENCES tenants,  -- NULL: of all tenants
  act              text NOT NULL CHECK (act IN ('retry', 'discard')),
  job_status       text CHECK (job_status IN ('DEAD_LETTER', 'FAILED')),  -- NULL: any, as everywhere here
  type             text,
  code             text,
  fingerprint      text,
  died_since       timestamptz,
  died_before      timestamptz NOT NULL CHECK (died_before < 'infinity'),
  counted          integer NOT NULL CHECK (counted >= 0),  -- when it was asked for
  touched          integer NOT NULL DEFAULT 0 CHECK (touched >= 0),
  status           text NOT NULL DEFAULT 'RUNNING' CHECK (status IN ('RUNNING', 'DONE', 'STOPPED')),
  asked_by         text NOT NULL,
  actor            text,  -- whom the server named, for the events of the jobs
  asked_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  stopped_by       text,
  finished_at      timestamptz,
  lease_owner      text,
  lease_token      uuid,
  lease_expires_at timestamptz,
  CONSTRAINT bulk_acts_end CHECK ((status = 'RUNNING') = (finished_at IS NULL)),
  CONSTRAINT bulk_acts_stopped_by_somebody CHECK ((status = 'STOPPED') = (stopped_by IS NOT NULL)),
  CONSTRAINT bulk_acts_lease CHECK (
    (lease_owner IS NULL) = (lease_expires_at IS NULL) AND (lease_owner IS NULL) = (lease_token IS NULL))
);
CREATE INDEX bulk_acts_running ON bulk_acts (bulk_act_id) WHERE status = 'RUNNING';

-- The columns that anybody may see; rows are written by functions alone.
CREATE VIEW own_bulk_acts WITH (security_barrier = true) AS
SELECT bulk_act_id, tenant_id, act, job_status, type, code, fingerprint, died_since, died_before, counted, touched,
       status, asked_by, actor, asked_at, stopped_by, finished_at, lease_owner, lease_expires_at
FROM bulk_acts
WHERE tenant_id = bpc_tenant();
GRANT SELECT ON bulk_acts TO bpc_operator, bpc_reader;
GRANT SELECT ON own_bulk_acts TO bpc_app;
