-- The queue: tenants, jobs, job_events.
-- Former release: keeps working.
-- Functions first: ids, guards, job_edges, job_fate, job_bell, job_values

CREATE TABLE tenants (
  tenant_id  uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  name       text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- How many jobs in a row are its own whenever its turn comes round.
  weight     integer NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 100),
  -- A tenant is found by either: nobody may be called like another's id.
  CONSTRAINT tenants_name_is_no_id CHECK (name !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
);

-- Every CHECK here holds after any claim and any settle of a row that held it before: one that did not
-- would stop every claim of the whole queue. What no claim and no settle writes is looked at by triggers below.
CREATE TABLE jobs (
  job_id               uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id            uuid NOT NULL REFERENCES tenants,
  type                 text NOT NULL,
  queue                text NOT NULL DEFAULT 'default',
  -- One constant, and not six: it is read from its stored text again for each UPDATE.
  status               text NOT NULL DEFAULT 'QUEUED'
                       CHECK (status = ANY ('{QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED,DEAD_LETTER}')),
  priority             smallint NOT NULL DEFAULT 2,
  payload              jsonb NOT NULL DEFAULT '{}',
  attempts             integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  max_attempts         integer NOT NULL DEFAULT 5,
  snoozes              integer NOT NULL DEFAULT 0 CHECK (snoozes BETWEEN 0 AND 1000),
  scheduled_at         timestamptz NOT NULL DEFAULT now(),
  created_at           timestamptz NOT NULL DEFAULT now(),
  started_at           timestamptz,
  finished_at          timestamptz,
  lease_owner          text,
  lease_token          uuid,
  lease_expires_at     timestamptz,
  last_heartbeat_at    timestamptz,
  last_error           jsonb,
  fail_code            text,
  fail_reason          text,
  stage                text,
  progress             jsonb,
  expected_duration_ms integer,
  idempotency_key      text,
  spec_hash            bytea CHECK (octet_length(spec_hash) = 32),
  result               jsonb,
  parent_job_id        uuid,
  correlation_id       text,
  traceparent          text,
  cancel_requested_at  timestamptz,
  begun_token          uuid,  -- of the claim that last said it begins; only those that have to say so do

  CONSTRAINT jobs_running_has_a_lease CHECK (
    (status = 'RUNNING') = (lease_owner IS NOT NULL)
    AND (lease_owner IS NULL) = (lease_expires_at IS NULL)),
  CONSTRAINT jobs_queued_has_attempts_left CHECK (status <> 'QUEUED' OR attempts < max_attempts),
  -- An infinite or five-digit year cannot be decoded and would break a whole claim.
  CONSTRAINT jobs_times_are_finite CHECK (scheduled_at >= '1970-01-01Z' AND scheduled_at < '9999-01-01Z')
);

CREATE UNIQUE INDEX jobs_idempotency ON jobs (tenant_id, type, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- One place per (queue, type, priority), oldest first: a claim goes straight to what it may take, whatever lies
-- ahead of it in other queues, other types or the future. A suspect is not in here: it is claimed alone.
CREATE INDEX jobs_probe ON jobs (queue, type, priority, scheduled_at, job_id)
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0;
-- The same within a tenant, for the share of claims that goes round the tenants. Every priority is at least 0 and
-- at most 3: saying the one there and the other here keeps the planner from taking one index for the other's
-- work, which PostgreSQL 18 does with one tenant in the table, and with a thousand would regret.
CREATE INDEX jobs_ring ON jobs (tenant_id, queue, type, priority, scheduled_at, job_id)
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3;
CREATE INDEX jobs_suspect ON jobs (priority, scheduled_at, job_id)
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2;
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
-- Dead letters in the order in which they died: of one type, of one code, and of all.
CREATE INDEX jobs_dead ON jobs (type, finished_at) WHERE status IN ('DEAD_LETTER', 'FAILED');
CREATE INDEX jobs_dead_code ON jobs (fail_code, finished_at) WHERE status IN ('DEAD_LETTER', 'FAILED');
CREATE INDEX jobs_dead_time ON jobs (finished_at, job_id) WHERE status IN ('DEAD_LETTER', 'FAILED');
-- What succeeded or was cancelled, in the order of its end: the removal of what is old reads nothing else. An entry is
-- made by every settle, at the index's end.
CREATE INDEX jobs_ended ON jobs (finished_at, job_id) WHERE status IN ('SUCCEEDED', 'CANCELLED');
-- The same work among those that went wrong: an index of all would be paid for at the end of every job.
CREATE INDEX jobs_spec_hash ON jobs (spec_hash) WHERE spec_hash IS NOT NULL AND status IN ('DEAD_LETTER', 'FAILED');
CREATE INDEX jobs_parent ON jobs (parent_job_id) WHERE parent_job_id IS NOT NULL;

-- Most of the table is history, and every job leaves two dead rows behind: vacuumed when a hundredth is dead, and not a
-- fifth, and at ten times the usual pace.
ALTER TABLE jobs SET (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000,
  toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_insert_scale_factor = 0.02,
  toast.autovacuum_vacuum_cost_limit = 2000
);

-- No foreign key: it would lock the job's row a second time at every event.
CREATE TABLE job_events (
  job_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_id       uuid NOT NULL,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  type         text NOT NULL,
  data         jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX job_events_job ON job_events (job_id, job_event_id);
ALTER TABLE job_events SET (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000,
  toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_insert_scale_factor = 0.02
);
-- One event per claim, however many reapers see it.
CREATE UNIQUE INDEX job_events_overdue ON job_events (job_id, (data ->> 'claim')) WHERE type = 'job:overdue';

-- Not for a claim (QUEUED, and now with a lease) nor an end (it had one, and has none now): a row has a lease while it is
-- RUNNING and only then. One that breaks that rule here is refused by it a moment later.
CREATE TRIGGER jobs_guard_edge BEFORE UPDATE OF status, attempts ON jobs
FOR EACH ROW WHEN (CASE WHEN NEW.lease_owner IS NULL THEN OLD.lease_owner IS NULL ELSE OLD.status <> 'QUEUED' END)
EXECUTE FUNCTION bpc_guard_job_edge();
-- Neither a claim nor a success gets past the WHEN.
CREATE TRIGGER jobs_tell_fate AFTER UPDATE OF status ON jobs
FOR EACH ROW WHEN (NEW.lease_owner IS NULL AND NEW.status <> 'SUCCEEDED')
EXECUTE FUNCTION bpc_tell_fate();
CREATE TRIGGER jobs_ring_bell AFTER INSERT ON jobs
FOR EACH STATEMENT WHEN (current_setting('bpc.quiet', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION bpc_ring();

-- As in a CHECK, what is NULL is not refused. The function says which of them it is. Of a payload it looks at the text
-- itself, where that may be too long. It cannot be 32 MiB where 2,000 bytes are stored and not compressed, nor where
-- 30,000 are and no number is written with an exponent that makes it long (as 0 may be).
CREATE TRIGGER jobs_values AFTER INSERT OR UPDATE OF
  type, queue, priority, payload, max_attempts, created_at, expected_duration_ms, idempotency_key, correlation_id,
  traceparent
ON jobs FOR EACH ROW WHEN (
  NEW.type !~ '^[A-Z][A-Z0-9_]{2,}$' OR length(NEW.type) > 64
  OR length(NEW.queue) NOT BETWEEN 1 AND 100
  OR NEW.priority NOT BETWEEN 0 AND 3
  OR NEW.max_attempts NOT BETWEEN 1 AND 1000000
  OR NEW.created_at < '1970-01-01Z' OR NEW.created_at >= '9999-01-01Z'
  OR NEW.expected_duration_ms <= 0
  OR length(NEW.idempotency_key) NOT BETWEEN 1 AND 500
  OR length(NEW.correlation_id) > 500
  OR length(NEW.traceparent) > 500
  OR pg_column_size(NEW.payload) > 30000 OR pg_column_compression(NEW.payload) IS NOT NULL
  OR (pg_column_size(NEW.payload) > 2000
      AND NEW.payload @? 'strict $.** ? (@ > 1e300 || @ < -1e300 || (@ < 1e-300 && @ > -1e-300))'))
EXECUTE FUNCTION bpc_refuse_job_value();

-- Not to bpc_app, which speaks for one tenant: it has the view own_jobs, and functions that compare the tenant.
GRANT SELECT ON jobs, job_events TO bpc_worker, bpc_operator, bpc_reader;
GRANT SELECT ON tenants TO bpc_worker, bpc_operator, bpc_reader, bpc_app;
GRANT INSERT ON tenants TO bpc_app;

GRANT INSERT ON jobs TO bpc_worker;
GRANT UPDATE (status, attempts, snoozes, scheduled_at, started_at, finished_at, lease_owner, lease_token,
              lease_expires_at, last_heartbeat_at, last_error, fail_code, fail_reason, stage, progress,
              spec_hash, result, cancel_requested_at, begun_token) ON jobs TO bpc_worker;
GRANT INSERT ON job_events TO bpc_worker;

GRANT INSERT (job_id, tenant_id, type, queue, priority, payload, max_attempts, scheduled_at, expected_duration_ms,
              idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent),
      SELECT (job_id, status, tenant_id, type, idempotency_key) ON jobs TO bpc_producer;
GRANT UPDATE (status, attempts) ON jobs TO bpc_operator;
