-- How a job runs that is running, or how it ended. For bpc_explain_job.
CREATE OR REPLACE FUNCTION bpc_explain_started(wanted uuid, sla_factor double precision)
RETURNS TABLE (place integer, reason text, message text, until timestamptz, remedy text)
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
WITH job AS MATERIALIZED (
  SELECT *,
         concat_ws(': ', fail_code, left(last_error ->> 'message', 300)) AS trouble,
         format('attempt %s of %s', attempts, max_attempts) AS attempt,
         clock_timestamp() AS now
  FROM jobs WHERE job_id = wanted
)
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
       job.lease_expires_at, 'its worker stops it within a second or so'
FROM job WHERE job.status = 'RUNNING' AND job.cancel_requested_at IS NOT NULL
UNION ALL
SELECT 30, 'overdue',
       format('it has run for %s s, and was expected to take %s s',
              round(extract(epoch FROM job.now - job.started_at)), round(job.expected_duration_ms / 1000.0, 1)),
       NULL, 'look at its stage and the worker''s log; cancel it if it hangs'
FROM job
WHERE job.status = 'RUNNING'
  AND job.now > job.started_at + make_interval(secs => job.expected_duration_ms * sla_factor / 1000)
UNION ALL
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
$$;

-- Why does it not run? Every reason that holds, the one to see to first on top; no row: there is no such job.
-- `reason` is a stable word, `message` is for people, `until` is when it ends by itself, `remedy` is what to do.
CREATE OR REPLACE FUNCTION bpc_explain_job(wanted uuid, sla_factor double precision DEFAULT 6)
RETURNS TABLE (reason text, message text, until timestamptz, remedy text)
LANGUAGE sql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
SELECT found.reason, found.message, found.until, found.remedy
FROM (
  SELECT * FROM bpc_explain_waiting(wanted)
  UNION ALL
  SELECT * FROM bpc_explain_started(wanted, sla_factor)
) AS found
ORDER BY found.place, found.until
$$;

REVOKE EXECUTE ON FUNCTION bpc_explain_started, bpc_explain_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_explain_started, bpc_explain_job TO bpc_operator, bpc_reader;
