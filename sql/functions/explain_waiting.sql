-- Why a queued job does not run; no row for any other. For bpc_explain_job.
CREATE OR REPLACE FUNCTION bpc_explain_waiting(wanted uuid)
RETURNS TABLE (place integer, reason text, message text, until timestamptz, remedy text)
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp
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
         format('its last worker died on it, %s: it waits for its turn in the process for such jobs, behind %s others; %s',
                job.attempt, ahead.n,
                CASE WHEN watch.until > job.now THEN 'kept now by ' || regexp_replace(watch.owner, ' [0-9a-f-]{36}$', '')
                ELSE 'no worker keeps it at the moment' END),
         NULL, 'a worker starts that process by itself; if the job is what kills workers, cancel it'
  FROM job, suspect_watch AS watch,
       LATERAL (
         SELECT count(*) AS n FROM jobs o
         WHERE o.status = 'QUEUED' AND o.fail_code = 'LEASE_EXPIRED' AND o.attempts >= 2
           AND o.scheduled_at <= job.now
           AND (o.priority, o.scheduled_at, o.job_id) < (job.priority, job.scheduled_at, job.job_id)) AS ahead
  WHERE job.suspect
),
waits (place, reason, message, until, remedy) AS (
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
)
SELECT place, reason, message, until, remedy FROM stopped
UNION ALL
SELECT place, reason, message, until, remedy FROM waits
$$;

REVOKE EXECUTE ON FUNCTION bpc_explain_waiting FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_explain_waiting TO bpc_operator, bpc_reader;
