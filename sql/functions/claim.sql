-- The claim itself; sql/queries/jobs/claim.sql says what it is for. In steps, each with a plan of its own that stays with
-- the session: as one statement, its two hundred lines of plan cost more to set up than to carry out. The settings say
-- which plans are meant: one for all values, along the indexes. `priority >= 0` means jobs_probe, `<= 3` jobs_ring.
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
  paused text[];
  limits integer[];  -- how many a place may give
  at_pot integer[];
  level  smallint;
  page   uuid[];
  page_pots integer[];
  due    uuid[] := '{}';
  of_pot integer[] := '{}';
  round  uuid[] := '{}';  -- the next tenants' jobs
  oldest uuid;
  oldest_pot integer;
BEGIN
  paused := ARRAY(SELECT kind || ' ' || name FROM job_pauses WHERE expires_at IS NULL OR expires_at > moment);

  IF scan THEN  -- from one place to the next by the index
    WITH RECURSIVE walk (queue, type, priority, since, since_id) AS (
      SELECT start.queue, '', (-1)::smallint, NULL::timestamptz, NULL::uuid FROM unnest(at_queues) AS start (queue)
      UNION ALL
      SELECT next.* FROM walk CROSS JOIN LATERAL (
        SELECT queue, type, priority, scheduled_at, job_id FROM jobs
        WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
          AND queue = walk.queue AND (type, priority) > (walk.type, walk.priority)
        ORDER BY type, priority, scheduled_at, job_id LIMIT 1) AS next
    )
    SELECT array_agg(queue), array_agg(type), array_agg(priority), array_agg(walk.since), array_agg(since_id),
           jsonb_agg(jsonb_build_array(queue, type, priority, walk.since, since_id)) FILTER (WHERE walk.since <= moment)
    INTO at_queues, at_types, at_priorities, since, since_ids, live
    FROM walk WHERE type = ANY (mine) AND NOT ARRAY['queue ' || queue, 'type ' || type] && paused;
  ELSIF paused <> '{}' THEN
    SELECT array_agg(queue), array_agg(type), array_agg(priority), array_agg(place.since), array_agg(since_id)
    INTO at_queues, at_types, at_priorities, since, since_ids
    FROM unnest(at_queues, at_types, at_priorities, since, since_ids) AS place (queue, type, priority, since, since_id)
    WHERE NOT ARRAY['queue ' || queue, 'type ' || type] && paused;
  END IF;

  IF pots <> '{}' THEN  -- some types share one, from which only so many are taken
    SELECT array_agg(pot_of_mine[array_position(mine, place.type)]),
           array_agg(least(pots[pot_of_mine[array_position(mine, place.type)]], at_place))
    INTO at_pot, limits FROM unnest(at_types) AS place (type);
  ELSE
    limits := array_fill(at_place, ARRAY[coalesce(cardinality(at_types), 0)]);
  END IF;

  FOREACH level IN ARRAY '{0,1,2,3}'::smallint[] LOOP  -- no further than needed
    CONTINUE WHEN NOT level = ANY (at_priorities) OR cardinality(due) >= in_reach;
    SELECT array_agg(ordered.job_id), array_agg(ordered.pot) INTO page, page_pots
    FROM (SELECT hit.job_id, at_pot[place.number] AS pot
          FROM unnest(at_queues, at_types, at_priorities, since, since_ids, limits) WITH ORDINALITY
                 AS place (queue, type, priority, since, since_id, most, number)
          CROSS JOIN LATERAL (
            SELECT job_id, scheduled_at FROM jobs
            WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
              AND queue = place.queue AND type = place.type AND priority = place.priority
              AND (scheduled_at, job_id) >= (place.since, place.since_id) AND scheduled_at <= moment
              AND (paused = '{}' OR 'tenant ' || tenant_id <> ALL (paused)) AND job_id <> ALL (passed_over)
            ORDER BY scheduled_at, job_id LIMIT place.most) AS hit
          WHERE place.priority = level
          ORDER BY hit.scheduled_at, hit.job_id LIMIT in_reach - cardinality(due)) AS ordered;
    due := due || page;
    of_pot := of_pot || page_pots;
  END LOOP;

  IF from_the_oldest AND due <> '{}' THEN
    SELECT hit.job_id, at_pot[place.number] INTO oldest, oldest_pot
    FROM unnest(at_queues, at_types, at_priorities, since, since_ids, limits) WITH ORDINALITY
           AS place (queue, type, priority, since, since_id, most, number)
    CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority
        AND (scheduled_at, job_id) >= (place.since, place.since_id) AND scheduled_at <= moment
        AND (paused = '{}' OR 'tenant ' || tenant_id <> ALL (paused)) AND job_id <> ALL (passed_over)
      ORDER BY scheduled_at, job_id LIMIT least(1, place.most)) AS hit
    ORDER BY hit.scheduled_at, hit.job_id LIMIT 1;
    due := oldest || due;
    of_pot := oldest_pot || of_pot;
  END IF;

  IF share > 0 AND due <> '{}' AND EXISTS (SELECT FROM tenants OFFSET 1) THEN  -- of every four jobs one goes round the tenants
    SELECT array_agg(next.job_id ORDER BY next.scheduled_at, next.job_id) FILTER (WHERE next.job_id <> ALL (passed_over)),
           array_agg(at_pot[next.place] ORDER BY next.scheduled_at, next.job_id)
             FILTER (WHERE next.job_id <> ALL (passed_over)),
           (array_agg(next.tenant_id) FILTER (WHERE next.job_id IS NULL))[1],
           (array_agg(next.remaining) FILTER (WHERE next.job_id IS NULL))[1]
    INTO page, page_pots, ring_tenant, ring_left
    FROM bpc_next_of_ring(share, ring_at, unserved, hops, at_queues, at_types, at_priorities, since, since_ids, limits,
                          paused, moment) AS next;
    round := coalesce(page, '{}');
    due := round || due;
    of_pot := page_pots || of_pot;
  END IF;

  IF pots <> '{}' OR from_the_oldest OR round <> '{}' THEN  -- each once, and of no pot more than it holds
    due := ARRAY(
      SELECT counted.job_id
      FROM (SELECT once.job_id, once.pot, once.number,
                   row_number() OVER (PARTITION BY once.pot ORDER BY once.number) AS of_pot
            FROM (SELECT each.job_id, min(each.pot) AS pot, min(each.number) AS number
                  FROM unnest(due, of_pot) WITH ORDINALITY AS each (job_id, pot, number)
                  GROUP BY each.job_id) AS once) AS counted
      WHERE counted.pot IS NULL OR counted.of_pot <= pots[counted.pot] ORDER BY counted.number);
  END IF;
  seen := cardinality(due);
  head := due[1];

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
              SELECT locked.* FROM unnest(due) AS wanted (job_id) CROSS JOIN LATERAL (
                SELECT job_id, pg_column_size(payload) AS bytes FROM jobs
                WHERE job_id = wanted.job_id AND status = 'QUEUED' AND scheduled_at <= moment
                  AND NOT (ahead AND attempts + 1 >= max_attempts)
                FOR UPDATE SKIP LOCKED) AS locked
              LIMIT most) AS taken) AS summed
          WHERE summed.before = 0 OR summed.before < claim_bytes))
        RETURNING *
      )
      SELECT seen, live, ring_tenant, ring_left, head, job_id = ANY (round), NULL::double precision,
             job_id, lease_token, lease_owner, tenant_id, type, queue, priority,
             CASE WHEN pg_column_size(payload) <= inline_bytes AND pg_column_compression(payload) IS NULL
                  THEN payload::text END,
             attempts, max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id,
             correlation_id, traceparent, fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED', pg_column_size(payload)
      FROM claimed ORDER BY job_id IS DISTINCT FROM oldest, priority, scheduled_at, job_id;
    IF FOUND THEN
      RETURN;
    END IF;
  END IF;

  IF seen = 0 THEN
    SELECT extract(epoch FROM min(later.scheduled_at) - moment) INTO next_due
    FROM unnest(at_queues, at_types, at_priorities, limits) AS place (queue, type, priority, most)
    CROSS JOIN LATERAL (
      SELECT scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority AND scheduled_at > moment
      ORDER BY scheduled_at LIMIT least(1, place.most)) AS later;
  END IF;
  RETURN NEXT;  -- there is a row even when nothing was claimed
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_claim FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_claim TO bpc_worker;
