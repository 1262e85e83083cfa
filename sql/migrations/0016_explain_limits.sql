-- What keeps jobs of a limited type waiting is told from their bucket.
-- Former release: keeps working.

-- A bucket is found empty only while somebody takes from it: one that nobody asks any more fills up.
CREATE OR REPLACE FUNCTION bpc_explain_limits(of_type text) RETURNS TABLE (message text, until timestamptz, remedy text)
LANGUAGE sql STABLE
AS $$
SELECT format('no more than %2$s of %1$s may start in a second; the next one in %3$s s, and %4$s are due',
              of_type, bucket.per_second, round((held.wait)::numeric, 1),
              CASE WHEN due.n > 10000 THEN 'more than 10000' ELSE due.n::text END),
       held.now + make_interval(secs => held.wait),
       format('it runs by itself; to start more a second, raise rate_limits.%s of the workers', of_type)
FROM rate_limits AS bucket,
     LATERAL (SELECT clock_timestamp() AS now) AS clock,
     LATERAL (
       SELECT clock.now,
              (1 - bucket.tokens) / bucket.per_second
                - greatest(0, extract(epoch FROM clock.now - bucket.updated_at)::double precision) AS wait
     ) AS held,
     LATERAL (
       SELECT count(*) AS n FROM (
         SELECT FROM jobs
         WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2)
           AND priority >= 0  -- so far what the index jobs_probe says
           AND type = of_type AND scheduled_at <= clock.now
         LIMIT 10001) AS bounded
     ) AS due
WHERE bucket.key = of_type AND held.wait > 0
$$;

-- Why does it not run? Every reason that holds, the one to see to first on top; no row: there is no such job.
-- `reason` is a stable word, `message` is for people, `until` is when it ends by itself, `remedy` is what to do.
CREATE OR REPLACE FUNCTION bpc_explain_job(wanted uuid, sla_factor double precision DEFAULT 6)
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
  FROM job, LATERAL bpc_explain_limits(job.type) AS l WHERE job.status = 'QUEUED' AND job.scheduled_at <= job.now
  UNION ALL
  SELECT 30,
         CASE WHEN job.snoozes = 0 THEN 'not_due'
              WHEN job.fail_code = 'RATE_LIMITED' THEN 'rate_limited'
              WHEN job.fail_code LIKE 'WEBHOOK\_%' THEN 'breaker_open'  -- a failed call counts; only the breaker snoozes
              WHEN job.fail_code IN ('DB_UNAVAILABLE', 'QUEUE_UNAVAILABLE') THEN 'outage'
              ELSE 'snoozed' END,
         format('not due until %s, in %s s', bpc_clock_text(job.scheduled_at),
                ceil(extract(epoch FROM job.scheduled_at - job.now)))
         || CASE WHEN job.snoozes > 0 THEN format(': put off %s, without counting attempts: %s',
                                                    CASE job.snoozes WHEN 1 THEN 'once' ELSE job.snoozes || ' times' END, job.trouble)
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
         format('due since %s, behind %s others in queue %s; workers that handle it: %s, slots busy: %s of %s',
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
