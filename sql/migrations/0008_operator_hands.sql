-- An operator's hands: who works, dead letters by the thousand, a mended payload, a job once more, and why one waits.
-- Former release: keeps working.
-- (Its workers do not announce themselves: until they are replaced, bpc_explain_job does not know of them.)

-- Which processes there are and what they handle. Each writes its row when it starts and again before `expires_at`.
CREATE TABLE workers (
  worker_id   text NOT NULL CHECK (length(worker_id) BETWEEN 1 AND 500),
  host        text NOT NULL CHECK (length(host) BETWEEN 1 AND 500),
  pid         integer NOT NULL,
  release     text NOT NULL,
  types       text[] NOT NULL,  -- none: it only reaps
  queues      text[] NOT NULL,
  concurrency integer NOT NULL CHECK (concurrency >= 0),
  started_at  timestamptz NOT NULL,
  seen_at     timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,  -- not seen again until then: gone
  PRIMARY KEY (worker_id, host, pid)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON workers TO bpc_worker;
GRANT SELECT ON workers TO bpc_operator, bpc_reader, bpc_app;

-- Who paused and who resumed: job_pauses knows only what is paused now.
CREATE TABLE job_pause_events (
  job_pause_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  action     text NOT NULL CHECK (action IN ('paused', 'resumed')),
  kind       text NOT NULL,
  name       text NOT NULL,
  by         text NOT NULL DEFAULT session_user,
  reason     text NOT NULL,
  expires_at timestamptz
);
GRANT SELECT ON job_pause_events TO bpc_operator, bpc_reader, bpc_app;

CREATE FUNCTION bpc_note_pause() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  about job_pauses := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  INSERT INTO job_pause_events (action, kind, name, reason, expires_at)
  VALUES (CASE WHEN TG_OP = 'DELETE' THEN 'resumed' ELSE 'paused' END,
          about.kind, about.name, about.reason, about.expires_at);
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_note_pause FROM PUBLIC;
CREATE TRIGGER job_pauses_noted AFTER INSERT OR UPDATE OR DELETE ON job_pauses
FOR EACH ROW EXECUTE FUNCTION bpc_note_pause();

-- Dead letters in the order in which they died: of one code, and of all.
CREATE INDEX jobs_dead_code ON jobs (fail_code, finished_at) WHERE status IN ('DEAD_LETTER', 'FAILED');
CREATE INDEX jobs_dead_time ON jobs (finished_at, job_id) WHERE status IN ('DEAD_LETTER', 'FAILED');

-- What would be touched: the same choice as in bpc_lock_dead below. NULL = any.
CREATE FUNCTION bpc_dead_letters(
  of_type text DEFAULT NULL, with_code text DEFAULT NULL, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false
) RETURNS TABLE (
  job_id uuid, tenant_id uuid, type text, queue text, status text, priority smallint, attempts integer,
  max_attempts integer, created_at timestamptz, scheduled_at timestamptz, started_at timestamptz,
  finished_at timestamptz, fail_code text, last_error jsonb
)
LANGUAGE sql STABLE
AS $$
  SELECT j.job_id, j.tenant_id, j.type, j.queue, j.status, j.priority, j.attempts, j.max_attempts, j.created_at,
         j.scheduled_at, j.started_at, j.finished_at, j.fail_code, j.last_error
  FROM jobs AS j
  WHERE j.status IN ('DEAD_LETTER', 'FAILED') AND (failed_too OR j.status = 'DEAD_LETTER')
    AND (of_type IS NULL OR j.type = of_type)
    AND (with_code IS NULL OR j.fail_code = with_code)
    AND (of_tenant IS NULL OR j.tenant_id = of_tenant)
    AND (died_since IS NULL OR j.finished_at >= died_since)
    AND (died_before IS NULL OR j.finished_at < died_before)
$$;

-- One page of them, locked; what somebody else holds is passed over.
CREATE FUNCTION bpc_lock_dead(
  of_type text, with_code text, of_tenant uuid,
  died_since timestamptz, died_before timestamptz, failed_too boolean, page integer
) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  IF num_nonnulls(of_type, with_code, of_tenant, died_since, died_before) = 0 THEN
    RAISE EXCEPTION 'which ones? give a type, a code, a tenant or a time'
      USING ERRCODE = 'null_value_not_allowed', HINT = 'All of them: died_before => now().';
  END IF;
  RETURN ARRAY(
    SELECT job_id FROM jobs
    WHERE status IN ('DEAD_LETTER', 'FAILED') AND (failed_too OR status = 'DEAD_LETTER')
      AND (of_type IS NULL OR type = of_type)
      AND (with_code IS NULL OR fail_code = with_code)
      AND (of_tenant IS NULL OR tenant_id = of_tenant)
      AND (died_since IS NULL OR finished_at >= died_since)
      AND (died_before IS NULL OR finished_at < died_before)
    ORDER BY finished_at, job_id
    LIMIT page
    FOR UPDATE SKIP LOCKED);
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_lock_dead FROM PUBLIC;

-- As before, with more to choose by. Whoever calls it until it returns 0 gives a `died_before` of when he began:
-- otherwise what dies again meanwhile is retried again, for ever.
DROP FUNCTION bpc_retry_jobs(text, text, integer);
CREATE FUNCTION bpc_retry_jobs(
  of_type text DEFAULT NULL, with_code text DEFAULT NULL, page integer DEFAULT 500, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  chosen uuid[] := bpc_lock_dead(of_type, with_code, of_tenant, died_since, died_before, failed_too, page);
BEGIN
  UPDATE jobs SET status = 'QUEUED', attempts = 0 WHERE job_id = ANY (chosen);
  RETURN cardinality(chosen);
END
$$;

-- The same for giving up: one page, CANCELLED.
CREATE FUNCTION bpc_discard_jobs(
  of_type text DEFAULT NULL, with_code text DEFAULT NULL, page integer DEFAULT 500, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  chosen uuid[] := bpc_lock_dead(of_type, with_code, of_tenant, died_since, died_before, failed_too, page);
BEGIN
  UPDATE jobs SET status = 'CANCELLED' WHERE job_id = ANY (chosen);
  RETURN cardinality(chosen);
END
$$;

-- All of them, page by page, each committed, for psql: CALL it outside a transaction. What dies again meanwhile is
-- left alone; stopped and called again, it goes on with the rest.
CREATE PROCEDURE bpc_all_dead(
  act text, of_type text DEFAULT NULL, with_code text DEFAULT NULL, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false,
  page integer DEFAULT 500, INOUT touched integer DEFAULT 0
)
LANGUAGE plpgsql
AS $$
DECLARE
  began timestamptz := clock_timestamp();
  moved integer;
BEGIN
  IF num_nonnulls(of_type, with_code, of_tenant, died_since, died_before) > 0 THEN
    died_before := least(died_before, began);  -- and if not: the functions ask which ones
  END IF;
  touched := 0;
  LOOP
    IF act = 'retry' THEN
      moved := bpc_retry_jobs(of_type, with_code, page, of_tenant, died_since, died_before, failed_too);
    ELSIF act = 'discard' THEN
      moved := bpc_discard_jobs(of_type, with_code, page, of_tenant, died_since, died_before, failed_too);
    ELSE
      RAISE EXCEPTION 'act is %, and may be retry or discard', act USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXIT WHEN moved = 0;
    COMMIT;
    touched := touched + moved;
    RAISE NOTICE '% done', touched;
  END LOOP;
END
$$;

-- A tenant by id or name, for scripts: an unknown one must not become "any".
CREATE FUNCTION bpc_find_tenant(wanted text) RETURNS uuid
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  found_id uuid;
BEGIN
  IF coalesce(wanted, '') = '' THEN
    RETURN NULL;
  END IF;
  SELECT tenant_id INTO found_id FROM tenants WHERE tenant_id::text = lower(wanted) OR name = wanted;
  IF found_id IS NULL THEN
    RAISE EXCEPTION 'no tenant %', wanted USING ERRCODE = 'no_data_found';
  END IF;
  RETURN found_id;
END
$$;

-- Mend the payload of a dead letter or failure at `path` and retry it. The payload as it was goes into job_events.
-- Nothing else of the request changes; its spec_hash was that of the old payload and is made anew by the worker.
CREATE FUNCTION bpc_patch_and_retry(wanted uuid, path text[], value jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  found jobs;
  mended jsonb;
BEGIN
  SELECT * INTO found FROM jobs WHERE job_id = wanted FOR UPDATE;
  IF found.job_id IS NULL THEN
    RAISE EXCEPTION 'no job %', wanted USING ERRCODE = 'no_data_found';
  ELSIF found.status NOT IN ('DEAD_LETTER', 'FAILED') THEN
    RAISE EXCEPTION 'job % is %: only DEAD_LETTER and FAILED can be retried', wanted, found.status
      USING ERRCODE = 'check_violation';
  ELSIF value IS NULL OR coalesce(cardinality(path), 0) = 0 OR array_position(path, NULL) IS NOT NULL THEN
    RAISE EXCEPTION 'give a path and a value' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  BEGIN
    mended := jsonb_set(found.payload, path, value);
  EXCEPTION WHEN data_exception THEN
    NULL;  -- no number where a list wants one; a payload that is a mere text
  END;
  IF mended #> path IS DISTINCT FROM value THEN  -- or the way there is missing, or leads through a text
    RAISE EXCEPTION 'the payload of job % has no place %', wanted, array_to_string(path, '.')
      USING ERRCODE = 'check_violation', HINT = 'Only the last part of the path may be new.';
  END IF;
  INSERT INTO job_events (job_id, type, data) VALUES (wanted, 'job:payload_patched', jsonb_build_object(
    'by', session_user, 'path', to_jsonb(path), 'value', value,
    'payload', found.payload, 'spec_hash', encode(found.spec_hash, 'hex')));
  UPDATE jobs SET payload = mended, spec_hash = NULL, status = 'QUEUED', attempts = 0 WHERE job_id = wanted;
END
$$;

-- The same work once more as a new job: type, payload, tenant, queue, priority. Not the idempotency key, which stands for
-- the first one; that becomes the parent.
CREATE FUNCTION bpc_replay_job(wanted uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  found_status text;
  made uuid;
BEGIN
  SELECT status INTO found_status FROM jobs WHERE job_id = wanted FOR SHARE;
  IF found_status IS NULL THEN
    RAISE EXCEPTION 'no job %', wanted USING ERRCODE = 'no_data_found';
  ELSIF found_status IN ('QUEUED', 'RUNNING') THEN
    RAISE EXCEPTION 'job % is %: only a job that has ended can be replayed', wanted, found_status
      USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO jobs (tenant_id, type, queue, priority, payload, max_attempts, expected_duration_ms, spec_hash,
                    parent_job_id, correlation_id)
  SELECT tenant_id, type, queue, priority, payload, max_attempts, expected_duration_ms, spec_hash, job_id, correlation_id
  FROM jobs WHERE job_id = wanted
  RETURNING job_id INTO made;
  INSERT INTO job_events (job_id, type, data) VALUES
    (wanted, 'job:replayed', jsonb_build_object('by', session_user, 'as', made)),
    (made, 'job:replay_of', jsonb_build_object('by', session_user, 'of', wanted, 'from', found_status));
  RETURN made;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_dead_letters, bpc_retry_jobs, bpc_discard_jobs, bpc_patch_and_retry, bpc_replay_job,
  bpc_find_tenant FROM PUBLIC;
REVOKE EXECUTE ON PROCEDURE bpc_all_dead FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_dead_letters, bpc_find_tenant TO bpc_operator, bpc_reader, bpc_app;
GRANT EXECUTE ON PROCEDURE bpc_all_dead TO bpc_operator;
GRANT EXECUTE ON FUNCTION bpc_retry_jobs TO bpc_operator, bpc_app;
GRANT EXECUTE ON FUNCTION bpc_discard_jobs, bpc_patch_and_retry, bpc_replay_job TO bpc_operator;

CREATE FUNCTION bpc_clock_text(moment timestamptz) RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $$;

-- What keeps jobs of a type from being claimed for a while. Nothing does yet; a migration that adds rate limits replaces
-- this function, and bpc_explain_job tells what it tells.
CREATE FUNCTION bpc_explain_limits(of_type text) RETURNS TABLE (message text, until timestamptz, remedy text)
LANGUAGE sql STABLE
AS $$ SELECT NULL::text, NULL::timestamptz, NULL::text WHERE false $$;

-- Why does it not run? Every reason that holds, the one to see to first on top; no row: there is no such job.
-- `reason` is a stable word, `message` is for people, `until` is when it ends by itself, `remedy` is what to do.
CREATE FUNCTION bpc_explain_job(wanted uuid, sla_factor double precision DEFAULT 6)
RETURNS TABLE (reason text, message text, until timestamptz, remedy text)
LANGUAGE sql STABLE
AS $$
WITH job AS MATERIALIZED (
  SELECT *,
         concat_ws(': ', fail_code, left(last_error ->> 'message', 300)) AS trouble,
         format('attempt %s of %s', attempts, max_attempts) AS attempt,
         status = 'QUEUED' AND fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AND attempts >= 2 AS suspect,
         clock_timestamp() AS now
  FROM jobs WHERE job_id = wanted
),
live AS MATERIALIZED (
  SELECT w.* FROM workers w, job WHERE w.expires_at > job.now AND cardinality(w.types) > 0
),
able AS MATERIALIZED (
  SELECT live.* FROM live, job WHERE job.type = ANY (live.types) AND job.queue = ANY (live.queues)
),
paused AS MATERIALIZED (
  SELECT p.* FROM job_pauses p, job WHERE p.expires_at IS NULL OR p.expires_at > job.now
),
stopped (place, reason, message, until, remedy) AS (
  SELECT 10, 'paused',
         format('the %s %s is paused by %s since %s: %s', p.kind,
                CASE p.kind WHEN 'tenant' THEN coalesce((SELECT name FROM tenants WHERE tenant_id = job.tenant_id), p.name)
                ELSE p.name END,
                p.paused_by, bpc_clock_text(p.paused_at), p.reason),
         p.expires_at,
         format('bpc-worker resume %s %s', p.kind, p.name)
  FROM job JOIN paused p ON (p.kind, p.name) IN
    (('queue', job.queue), ('type', job.type), ('tenant', job.tenant_id::text))
  WHERE job.status = 'QUEUED'
  UNION ALL
  SELECT 20,
         CASE WHEN NOT EXISTS (SELECT FROM live) THEN 'no_worker'
              WHEN NOT EXISTS (SELECT FROM live WHERE job.type = ANY (live.types)) THEN 'no_handler'
              ELSE 'no_queue' END,
         CASE WHEN NOT EXISTS (SELECT FROM live) THEN 'no worker has announced itself'
              WHEN NOT EXISTS (SELECT FROM live WHERE job.type = ANY (live.types))
              THEN format('no running worker has a handler for %s', job.type)
              ELSE format('workers handle %s, but none looks into queue %s', job.type, job.queue) END,
         NULL::timestamptz,
         CASE WHEN NOT EXISTS (SELECT FROM live) THEN 'start one: bpc-worker run'
              WHEN NOT EXISTS (SELECT FROM live WHERE job.type = ANY (live.types))
              THEN 'start a worker that has the handler''s package installed, or cancel the job'
              ELSE format('start a worker with %s in BPC_WORKER_QUEUES', job.queue) END
  FROM job WHERE job.status = 'QUEUED' AND NOT EXISTS (SELECT FROM able)
  UNION ALL
  SELECT 25, 'rate_limited', l.message, l.until, l.remedy
  FROM job, LATERAL bpc_explain_limits(job.type) AS l WHERE job.status = 'QUEUED'
  UNION ALL
  SELECT 30,
         CASE WHEN job.snoozes = 0 THEN 'not_due'
              WHEN job.fail_code = 'RATE_LIMITED' THEN 'rate_limited'
              WHEN job.fail_code LIKE 'WEBHOOK\_%' THEN 'breaker_open'  -- a failed call counts; only the breaker snoozes
              WHEN job.fail_code IN ('DB_UNAVAILABLE', 'QUEUE_UNAVAILABLE') THEN 'outage'
              ELSE 'snoozed' END,
         format('not due until %s, in %s s', bpc_clock_text(job.scheduled_at),
                ceil(extract(epoch FROM job.scheduled_at - job.now)))
         || CASE WHEN job.snoozes > 0 THEN format(': put off %s times, without counting attempts: %s', job.snoozes, job.trouble)
                 WHEN job.fail_code IS NOT NULL THEN format(': %s failed: %s', job.attempt, job.trouble)
                 ELSE '' END,
         job.scheduled_at,
         'it runs by itself then'
  FROM job WHERE job.status = 'QUEUED' AND job.scheduled_at > job.now
  UNION ALL
  SELECT 40, 'suspect',
         format('its last worker died on it, %s: it waits for an idle worker, which runs it alone', job.attempt),
         NULL, 'a busy worker empties itself for it within a lease; if the job is what kills them, cancel it'
  FROM job WHERE job.suspect
),
queued AS (
  SELECT 50, 'waiting',
         format('due since %s, behind %s others in queue %s; %s workers handle it, %s of their %s slots are busy',
                bpc_clock_text(job.scheduled_at),
                CASE WHEN ahead.n > 10000 THEN 'more than 10000' ELSE ahead.n::text END, job.queue,
                crew.n, crew.busy, crew.slots),
         NULL::timestamptz,
         'wait, or start more workers'
  FROM job,
       LATERAL (
         SELECT count(*) AS n, coalesce(sum(concurrency), 0) AS slots,
                (SELECT count(*) FROM jobs r
                 WHERE r.lease_expires_at IS NOT NULL AND r.lease_owner IN (SELECT worker_id FROM able)) AS busy
         FROM able) AS crew,
       LATERAL (
         SELECT count(*) AS n FROM (
           SELECT FROM jobs o
           WHERE o.status = 'QUEUED' AND (o.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR o.attempts < 2)
             AND o.priority >= 0  -- so far what the index jobs_probe says
             AND o.queue = job.queue AND o.scheduled_at <= job.now
             AND o.type = ANY (ARRAY(SELECT unnest(types) FROM able))
             AND (o.priority, o.scheduled_at, o.job_id) < (job.priority, job.scheduled_at, job.job_id)
             AND NOT EXISTS (SELECT FROM paused p
                             WHERE (p.kind, p.name) IN (('type', o.type), ('tenant', o.tenant_id::text)))
           LIMIT 10001) AS bounded) AS ahead
  WHERE job.status = 'QUEUED' AND NOT EXISTS (SELECT FROM stopped)
),
running AS (
  SELECT 10, CASE WHEN job.lease_expires_at > job.now THEN 'running' ELSE 'lease_ended' END,
         CASE WHEN job.lease_expires_at > job.now
              THEN format('it runs: %s since %s, %s holds the lease until %s', job.attempt,
                          bpc_clock_text(job.started_at), job.lease_owner, bpc_clock_text(job.lease_expires_at))
              ELSE format('%s had the lease until %s and did not renew it: it died, froze or lost the database',
                          job.lease_owner, bpc_clock_text(job.lease_expires_at)) END
         || CASE WHEN job.stage IS NULL THEN '' ELSE format('; stage: %s', job.stage) END,
         job.lease_expires_at,
         CASE WHEN job.lease_expires_at > job.now THEN 'wait, or cancel it'
              ELSE 'the next pass of any reaper brings it back; if none runs: bpc-worker run --role reaper' END
  FROM job WHERE job.status = 'RUNNING'
  UNION ALL
  SELECT 20, 'cancel_requested', format('it was asked to stop at %s', bpc_clock_text(job.cancel_requested_at)),
         job.lease_expires_at, 'its worker stops it within one renewal'
  FROM job WHERE job.status = 'RUNNING' AND job.cancel_requested_at IS NOT NULL
  UNION ALL
  SELECT 30, 'overdue',
         format('it has run for %s s, and was expected to take %s s',
                round(extract(epoch FROM job.now - job.started_at)), round(job.expected_duration_ms / 1000.0, 1)),
         NULL, 'look at its stage and the worker''s log; cancel it if it hangs'
  FROM job
  WHERE job.status = 'RUNNING'
    AND job.now > job.started_at + make_interval(secs => job.expected_duration_ms * sla_factor / 1000)
),
ended AS (
  SELECT 10, lower(job.status),
         CASE job.status
           WHEN 'SUCCEEDED' THEN format('it succeeded at %s, %s', bpc_clock_text(job.finished_at), job.attempt)
           WHEN 'CANCELLED' THEN format('it was cancelled at %s%s', bpc_clock_text(job.finished_at), (
             SELECT ' by ' || (data ->> 'by') FROM job_events
             WHERE job_events.job_id = job.job_id AND data ? 'by' AND type IN ('job:cancelled', 'job:cancel_requested')
             ORDER BY job_event_id DESC LIMIT 1))
           WHEN 'FAILED' THEN format('it failed for good at %s, %s: %s', bpc_clock_text(job.finished_at), job.attempt, job.trouble)
           ELSE format('it is a dead letter since %s, %s: %s', bpc_clock_text(job.finished_at), job.attempt, job.trouble)
         END,
         NULL::timestamptz,
         CASE WHEN job.status IN ('SUCCEEDED', 'CANCELLED')
              THEN format('it cannot be brought back; the same work as a new job: bpc-worker jobs replay %s', job.job_id)
              ELSE format('mend the cause, then: bpc-worker dead retry %1$s --yes; or give it up: bpc-worker dead discard %1$s --yes',
                          job.job_id) END
  FROM job WHERE job.status NOT IN ('QUEUED', 'RUNNING')
)
SELECT found.reason, found.message, found.until, found.remedy
FROM (SELECT * FROM stopped UNION ALL SELECT * FROM queued UNION ALL SELECT * FROM running UNION ALL SELECT * FROM ended)
     AS found (place, reason, message, until, remedy)
ORDER BY found.place, found.until
$$;
REVOKE EXECUTE ON FUNCTION bpc_clock_text, bpc_explain_limits, bpc_explain_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_clock_text, bpc_explain_limits, bpc_explain_job TO bpc_operator, bpc_reader, bpc_app;
