-- The claim itself; sql/queries/jobs/claim.sql says what it is for. Rows are locked where they are found, in their order,
-- until there is one more than wanted: that one says that there is more. What others hold is passed over. It ends where
-- payloads are too many bytes, behind the first. In steps, each with a plan of its own that stays with the session and is
-- set up only where it is needed: as one statement, its lines of plan cost more to set up than to carry out.
-- `priority >= 0` means jobs_probe, `<= 3` jobs_ring.
DROP FUNCTION IF EXISTS bpc_claim(
  integer, boolean, bigint, integer, uuid[], text, double precision, uuid, timestamptz, boolean, text[], text[],
  smallint[], timestamptz[], uuid[], text[], integer[], integer[], integer, integer, boolean, integer, uuid, integer,
  integer);
DROP FUNCTION IF EXISTS bpc_choose_jobs;

CREATE OR REPLACE FUNCTION bpc_claim(
  most integer, ahead boolean, claim_bytes bigint, inline_bytes integer, passed_over uuid[],
  holder text, lease_seconds double precision, nonce uuid, as_of timestamptz,
  scan boolean, at_queues text[], at_types text[], at_priorities smallint[], since timestamptz[], since_ids uuid[],
  mine text[], pot_of_mine integer[], pots integer[],
  from_the_oldest boolean, share integer, ring_at uuid, unserved integer, hops integer)
RETURNS TABLE (
  seen integer, live jsonb, ring_tenant uuid, ring_left integer, head uuid, next_due double precision, turn integer,
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
  paused text[] := ARRAY(SELECT kind || ' ' || name FROM job_pauses WHERE expires_at IS NULL OR expires_at > moment);
  at_pots integer[];
  due    uuid[] := '{}';
  bytes  bigint := 0;
  round  uuid[] := '{}';  -- of these, the next tenants'
  oldest uuid;
  asked  uuid[];
  level  smallint;
  here   integer[];  -- the numbers of its places
  shares integer[];  -- and how many each of them gives
  more_due  uuid[];
  more_seen integer;
  more_bytes bigint;
BEGIN
  seen := 0;
  IF scan OR paused <> '{}' OR pots <> '{}' THEN
    SELECT * INTO at_queues, at_types, at_priorities, since, since_ids, pots, at_pots, live
    FROM bpc_claim_places(scan, at_queues, at_types, at_priorities, since, since_ids, pots, mine, pot_of_mine, paused, moment);
  END IF;

  IF (share > 0 OR from_the_oldest) AND (live IS NOT NULL OR NOT scan) THEN
    SELECT * INTO pots, due, seen, bytes, asked, round, oldest, ring_tenant, ring_left
    FROM bpc_claim_turns(share, from_the_oldest, ring_at, unserved, hops, at_queues, at_types, at_priorities, since, since_ids,
                         at_pots, pots, paused, passed_over, ahead, moment);
    passed_over := passed_over || asked;
  END IF;

  FOREACH level IN ARRAY '{0,1,2,3}'::smallint[] LOOP
    here := array_positions(at_priorities, level);
    CONTINUE WHEN here = '{}' OR cardinality(due) > most;
    shares := ARRAY[most + 1 - cardinality(due)];
    IF pots <> '{}' OR cardinality(here) > 1 THEN
      SELECT * INTO here, pots, shares
      FROM bpc_claim_shares(level, shares[1], here, at_queues, at_types, since, since_ids, at_pots, pots, paused, passed_over,
                            moment);
    END IF;
    SELECT array_agg(hit.job_id ORDER BY hit.scheduled_at, hit.job_id) FILTER (WHERE NOT (ahead AND hit.is_last)),
           count(*), coalesce(sum(hit.bytes), 0)
    INTO more_due, more_seen, more_bytes
    FROM unnest(here, shares) AS place (number, share)
    CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at, pg_column_size(payload) AS bytes, attempts + 1 >= max_attempts AS is_last FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = at_queues[place.number] AND type = at_types[place.number] AND priority = level
        AND (scheduled_at, job_id) >= (since[place.number], since_ids[place.number]) AND scheduled_at <= moment
        AND (paused = '{}' OR 'tenant ' || tenant_id <> ALL (paused)) AND job_id <> ALL (passed_over)
      ORDER BY scheduled_at, job_id LIMIT place.share FOR UPDATE SKIP LOCKED) AS hit;
    due := due || more_due;
    seen := seen + more_seen;
    bytes := bytes + more_bytes;
  END LOOP;

  IF seen = 0 THEN
    SELECT * INTO seen, next_due
    FROM bpc_claim_later(at_queues, at_types, at_priorities, since, since_ids, paused, passed_over, moment);
  END IF;
  head := due[1];
  RETURN NEXT;

  IF bytes > claim_bytes THEN
    SELECT count(*) FILTER (WHERE sized.before = 0 OR sized.before < claim_bytes) INTO most
    FROM (SELECT sum(one.bytes) OVER (ORDER BY wanted.number) - one.bytes AS before
          FROM unnest(due[:most]) WITH ORDINALITY AS wanted (job_id, number)
          CROSS JOIN LATERAL (
            SELECT pg_column_size(payload) AS bytes FROM jobs WHERE job_id = wanted.job_id OFFSET 0) AS one) AS sized;
  END IF;
  IF most > 0 AND due <> '{}' THEN
    RETURN QUERY
      UPDATE jobs
      SET status = 'RUNNING', attempts = attempts + 1, lease_owner = holder, stage = NULL, progress = NULL,
          lease_token = encode(substring(sha256(convert_to(nonce::text || job_id, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
          lease_expires_at = moment + make_interval(secs => lease_seconds), last_heartbeat_at = moment,
          started_at = moment
      WHERE job_id = ANY (due[:most])
      RETURNING NULL::integer, NULL::jsonb, NULL::uuid, NULL::integer, NULL::uuid, NULL::double precision,
        CASE WHEN job_id = ANY (round) THEN 0 ELSE 2 END + (job_id IS DISTINCT FROM oldest)::integer,
        job_id, lease_token, lease_owner, tenant_id, type, queue, priority,
        CASE WHEN pg_column_size(payload) <= inline_bytes AND pg_column_compression(payload) IS NULL THEN payload::text END,
        attempts, max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id,
        traceparent, fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED', pg_column_size(payload);
  END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_claim FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_claim TO bpc_worker;
