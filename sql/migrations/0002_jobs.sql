-- The queue: tenants, jobs, job_events.
-- Former release: keeps working.

-- Time-ordered ids (RFC 9562, version 7): neighbours in time are neighbours in the index.
CREATE FUNCTION bpc_uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$
  SELECT encode(
    set_bit(                                       -- version 4 (0100) becomes 7 (0111)
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          PLACING substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
          FROM 1 FOR 6
        ),
        52, 1),
      53, 1),
    'hex')::uuid
$$;

CREATE TABLE tenants (
  tenant_id  uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  name       text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Every CHECK here holds after any claim and any settle of a row that held it before: one that did not
-- would stop every claim of the whole queue.
CREATE TABLE jobs (
  job_id               uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id            uuid NOT NULL REFERENCES tenants,
  type                 text NOT NULL CHECK (type ~ '^[A-Z][A-Z0-9_]{2,63}$'),
  queue                text NOT NULL DEFAULT 'default' CHECK (length(queue) BETWEEN 1 AND 100),
  status               text NOT NULL DEFAULT 'QUEUED'
                       CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED', 'DEAD_LETTER')),
  priority             smallint NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 3),
  payload              jsonb NOT NULL DEFAULT '{}',
  attempts             integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  max_attempts         integer NOT NULL DEFAULT 5 CHECK (max_attempts BETWEEN 1 AND 1000000),
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
  expected_duration_ms integer CHECK (expected_duration_ms > 0),
  idempotency_key      text CHECK (length(idempotency_key) BETWEEN 1 AND 500),
  spec_hash            bytea CHECK (octet_length(spec_hash) = 32),
  result               jsonb,
  parent_job_id        uuid,
  correlation_id       text CHECK (length(correlation_id) <= 500),
  traceparent          text CHECK (length(traceparent) <= 500),
  cancel_requested_at  timestamptz,

  CONSTRAINT jobs_running_has_a_lease CHECK (
    (status = 'RUNNING') = (lease_owner IS NOT NULL)
    AND (lease_owner IS NULL) = (lease_expires_at IS NULL)),
  CONSTRAINT jobs_queued_has_attempts_left CHECK (status <> 'QUEUED' OR attempts < max_attempts),
  -- An infinite or five-digit year cannot be decoded and would break a whole claim.
  CONSTRAINT jobs_times_are_finite CHECK (
    scheduled_at >= '1970-01-01Z' AND scheduled_at < '9999-01-01Z'
    AND created_at >= '1970-01-01Z' AND created_at < '9999-01-01Z')
);

CREATE UNIQUE INDEX jobs_idempotency ON jobs (tenant_id, type, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (priority, scheduled_at, job_id) WHERE status = 'QUEUED';
CREATE INDEX jobs_suspect ON jobs (priority, scheduled_at, job_id)
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2;
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
CREATE INDEX jobs_dead ON jobs (type, finished_at) WHERE status IN ('DEAD_LETTER', 'FAILED');
CREATE INDEX jobs_spec_hash ON jobs (spec_hash) WHERE spec_hash IS NOT NULL;
CREATE INDEX jobs_parent ON jobs (parent_job_id) WHERE parent_job_id IS NOT NULL;

-- No foreign key: it would lock the job's row a second time at every event.
CREATE TABLE job_events (
  job_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job_id       uuid NOT NULL,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  type         text NOT NULL,
  data         jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX job_events_job ON job_events (job_id, job_event_id);

-- Guards every change of status or attempts that is not a claim or a settle: those two never get past the
-- WHEN clause below. SECURITY DEFINER so that an operator can cause the event without INSERT on job_events.
CREATE FUNCTION bpc_guard_job_edge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  IF NEW.status = OLD.status AND NEW.attempts = OLD.attempts THEN
    RETURN NEW;
  END IF;

  IF OLD.status IN ('DEAD_LETTER', 'FAILED') AND NEW.status = 'QUEUED' THEN
    IF NEW.attempts >= NEW.max_attempts THEN
      NEW.attempts := 0;
    END IF;
    NEW.scheduled_at := clock_timestamp();
    NEW.snoozes := 0;
    NEW.lease_token := NULL;
    NEW.started_at := NULL;
    NEW.finished_at := NULL;
    NEW.fail_code := NULL;
    NEW.fail_reason := NULL;
    NEW.stage := NULL;
    NEW.progress := NULL;
    NEW.cancel_requested_at := NULL;
    INSERT INTO job_events (job_id, type, data) VALUES (NEW.job_id, 'job:requeued', jsonb_build_object(
      'by', session_user, 'from', OLD.status, 'attempts', OLD.attempts, 'code', OLD.fail_code));
    PERFORM pg_notify('bpc_jobs', '');
    RETURN NEW;
  END IF;

  IF NEW.status = 'CANCELLED' AND OLD.status IN ('QUEUED', 'DEAD_LETTER', 'FAILED') THEN
    NEW.finished_at := clock_timestamp();
    INSERT INTO job_events (job_id, type, data) VALUES (NEW.job_id, 'job:cancelled', jsonb_build_object(
      'by', session_user, 'from', OLD.status, 'attempts', OLD.attempts, 'code', OLD.fail_code));
    RETURN NEW;
  END IF;

  IF NEW.status = 'QUEUED' AND OLD.status = 'QUEUED' THEN
    INSERT INTO job_events (job_id, type, data) VALUES (NEW.job_id, 'job:attempts_set', jsonb_build_object(
      'by', session_user, 'from', OLD.attempts, 'to', NEW.attempts));
    RETURN NEW;
  END IF;

  RAISE EXCEPTION 'job % cannot go from % to %', OLD.job_id, OLD.status, NEW.status
    USING ERRCODE = 'check_violation',
          HINT = 'Legal by hand: DEAD_LETTER or FAILED to QUEUED (retry) or CANCELLED (discard), QUEUED to CANCELLED. '
                 'A running job is cancelled with SELECT bpc_cancel_job(job_id).';
END
$$;

CREATE TRIGGER jobs_guard_edge BEFORE UPDATE OF status, attempts ON jobs
FOR EACH ROW WHEN (
  (OLD.status = 'QUEUED' AND NEW.status <> 'RUNNING')
  OR (OLD.status = 'RUNNING' AND NEW.status = 'RUNNING')
  OR OLD.status NOT IN ('QUEUED', 'RUNNING'))
EXECUTE FUNCTION bpc_guard_job_edge();

-- Lets a producer learn whether an idempotency key stands for the same work, without reading payloads.
CREATE FUNCTION bpc_same_payload(wanted uuid, given jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT payload = given FROM jobs WHERE job_id = wanted $$;
REVOKE EXECUTE ON FUNCTION bpc_same_payload FROM PUBLIC;

GRANT SELECT ON tenants, jobs, job_events TO bpc_worker, bpc_operator, bpc_reader, bpc_app;
GRANT INSERT ON tenants TO bpc_app;

GRANT INSERT ON jobs TO bpc_worker, bpc_app;
GRANT UPDATE (status, attempts, snoozes, scheduled_at, started_at, finished_at, lease_owner, lease_token,
              lease_expires_at, last_heartbeat_at, last_error, fail_code, fail_reason, stage, progress,
              spec_hash, result, cancel_requested_at) ON jobs TO bpc_worker;
GRANT INSERT ON job_events TO bpc_worker;

GRANT INSERT (job_id, tenant_id, type, queue, priority, payload, max_attempts, scheduled_at, expected_duration_ms,
              idempotency_key, spec_hash, parent_job_id, correlation_id, traceparent),
      SELECT (job_id, status, tenant_id, type, idempotency_key) ON jobs TO bpc_producer;
GRANT SELECT ON tenants TO bpc_producer;
GRANT EXECUTE ON FUNCTION bpc_same_payload TO bpc_producer, bpc_worker, bpc_app;

GRANT UPDATE (status, attempts) ON jobs TO bpc_operator;
