-- Why a job of the tenant that the transaction has named does not run: without what concerns others, the names of machines
-- and people, how long the queue is, and what only an operator can do about it.
CREATE OR REPLACE FUNCTION bpc_explain_own_job(wanted uuid, sla_factor double precision DEFAULT 6)
RETURNS TABLE (reason text, message text, until timestamptz, remedy text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
SELECT told.reason,
       CASE told.reason
         WHEN 'paused' THEN 'it is paused'
         WHEN 'rate_limited' THEN 'as many as may start in a second have started'
         WHEN 'suspect' THEN 'its last worker died on it: it waits for its turn in the process for such jobs'
         WHEN 'waiting' THEN format('due since %s, and others are before it', bpc_clock_text(job.scheduled_at))
         WHEN 'running' THEN format('it runs: attempt %s of %s since %s%s', job.attempts, job.max_attempts,
                                    bpc_clock_text(job.started_at), coalesce('; stage: ' || job.stage, ''))
         WHEN 'lease_ended' THEN 'its worker has not been heard of'
         WHEN 'cancelled' THEN format('it was cancelled at %s', bpc_clock_text(job.finished_at))
         ELSE told.message
       END,
       told.until,
       CASE WHEN told.reason IN ('not_due', 'snoozed', 'outage', 'breaker_open', 'rate_limited', 'waiting', 'running', 'lease_ended')
            THEN 'nothing: it goes on by itself'
            WHEN told.reason IN ('failed', 'dead_letter') THEN 'mend the cause, then retry it; or discard it'
            WHEN told.reason IN ('succeeded', 'cancelled', 'cancel_requested') THEN 'nothing: it has ended, or will at once'
            ELSE 'ask who runs this installation' END
FROM jobs AS job, LATERAL bpc_explain_job(job.job_id, sla_factor) AS told
WHERE job.job_id = wanted AND job.tenant_id = bpc_tenant()
$$;

REVOKE EXECUTE ON FUNCTION bpc_explain_own_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_explain_own_job TO bpc_app;
