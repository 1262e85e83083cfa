-- The claim itself; sql/queries/jobs/claim.sql says what it is for. What it would take is chosen without locking, then
-- locked in that order. What others hold is passed over, what has changed stays, and it ends where payloads are too many
-- bytes, behind the first.
CREATE OR REPLACE FUNCTION bpc_claim(
  most integer, ahead boolean, claim_bytes bigint, inline_bytes integer, passed_over uuid[],
  holder text, lease_seconds double precision, nonce uuid, as_of timestamptz,
  scan boolean, at_queues text[], at_types text[], at_priorities smallint[], since timestamptz[], since_ids uuid[],
  mine text[], pot_of_mine integer[], pots integer[], in_reach integer, at_place integer,
  from_the_oldest boolean, share integer, ring_at uuid, unserved integer, hops integer)
RETURNS TABLE (
  seen integer, live jsonb, ring_tenant uuid, ring_left integer, head uuid, of_ring boolean, next_due double precision,
  job_id uuid, lease_token uuid, lease_owner text, tenant_id uuid, type text, queue text, priority smallint, payload text,
  attempts integer, max_attempts integer, snoozes integer, scheduled_at timestamptz, created_at timestamptz,
  started_at timestamptz, spec_hash bytea, parent_job_id uuid, correlation_id text, traceparent text,
  lease_expired_before boolean, payload_bytes integer)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := coalesce(as_of, now());
  chosen record;
BEGIN
  SELECT * INTO chosen FROM bpc_choose_jobs(
    passed_over, moment, scan, at_queues, at_types, at_priorities, since, since_ids, mine, pot_of_mine, pots, in_reach,
    at_place, from_the_oldest, share, ring_at, unserved, hops);
  seen := cardinality(chosen.due);
  head := chosen.due[1];
  live := chosen.live;
  ring_tenant := chosen.ring_tenant;
  ring_left := chosen.ring_left;
  next_due := chosen.next_due;

  IF most > 0 AND seen > 0 THEN
    RETURN QUERY
      WITH claimed AS (
        UPDATE jobs
        SET status = 'RUNNING', attempts = attempts + 1, lease_owner = holder, stage = NULL, progress = NULL,
            lease_token = encode(substring(sha256(convert_to(nonce::text || job_id, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
            lease_expires_at = moment + make_interval(secs => lease_seconds), last_heartbeat_at = moment,
            started_at = moment
        WHERE job_id = ANY (ARRAY(
          SELECT summed.job_id FROM (
            SELECT taken.job_id, sum(taken.bytes) OVER (ROWS UNBOUNDED PRECEDING) - taken.bytes AS before FROM (
              SELECT locked.* FROM unnest(chosen.due) AS wanted (job_id) CROSS JOIN LATERAL (
                SELECT job_id, pg_column_size(payload) AS bytes FROM jobs
                WHERE job_id = wanted.job_id AND status = 'QUEUED' AND scheduled_at <= moment
                  AND NOT (ahead AND attempts + 1 >= max_attempts)
                FOR UPDATE SKIP LOCKED) AS locked
              LIMIT most) AS taken) AS summed
          WHERE summed.before = 0 OR summed.before < claim_bytes))
        RETURNING *
      )
      SELECT seen, live, ring_tenant, ring_left, head, job_id = ANY (chosen.round), NULL::double precision,
             job_id, lease_token, lease_owner, tenant_id, type, queue, priority,
             CASE WHEN pg_column_size(payload) <= inline_bytes AND pg_column_compression(payload) IS NULL
                  THEN payload::text END,
             attempts, max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id,
             correlation_id, traceparent, fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED', pg_column_size(payload)
      FROM claimed ORDER BY job_id IS DISTINCT FROM chosen.oldest, priority, scheduled_at, job_id;
    IF FOUND THEN
      RETURN;
    END IF;
  END IF;
  RETURN NEXT;  -- there is a row even when nothing was claimed
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_claim FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_claim TO bpc_worker;
