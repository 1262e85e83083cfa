-- Who has a turn before the order of a claim: up to `share` jobs of the next tenants in the ring, then the oldest of all
-- places. They are locked, each once, and of no pot more than it holds; what others hold is passed over. `asked` are all
-- that it asked for, `round` and `oldest` among them; `due` are those that may be taken, `seen` counts the others too.
CREATE OR REPLACE FUNCTION bpc_claim_turns(
  share integer, from_the_oldest boolean, ring_at uuid, unserved integer, hops integer, at_queues text[], at_types text[],
  at_priorities smallint[], since timestamptz[], since_ids uuid[], at_pots integer[], INOUT pots integer[], paused text[],
  passed_over uuid[], ahead boolean, moment timestamptz,
  OUT due uuid[], OUT seen integer, OUT bytes bigint, OUT asked uuid[], OUT round uuid[], OUT oldest uuid,
  OUT ring_tenant uuid, OUT ring_left integer)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  numbers integer[] := '{}';  -- the places of those asked for
  place_of_oldest integer;
BEGIN
  round := '{}';
  IF share > 0 THEN
    SELECT coalesce(array_agg(job_id ORDER BY scheduled_at, job_id) FILTER (WHERE is_wanted), '{}'),
           coalesce(array_agg(place ORDER BY scheduled_at, job_id) FILTER (WHERE is_wanted), '{}'),
           (array_agg(tenant_id) FILTER (WHERE job_id IS NULL))[1], (array_agg(remaining) FILTER (WHERE job_id IS NULL))[1]
    INTO round, numbers, ring_tenant, ring_left
    FROM (SELECT *, job_id IS NOT NULL AND job_id <> ALL (passed_over) AS is_wanted
          FROM bpc_next_of_ring(
            share, ring_at, unserved, hops, at_queues, at_types, at_priorities, since, since_ids,
            ARRAY(SELECT least(share, pots[at_pots[number]]) FROM generate_subscripts(at_types, 1) AS number ORDER BY number),
            paused, moment)) AS next;
  END IF;
  asked := round;

  IF from_the_oldest THEN
    SELECT hit.job_id, place.number INTO oldest, place_of_oldest
    FROM unnest(at_queues, at_types, at_priorities, since, since_ids) WITH ORDINALITY
           AS place (queue, type, priority, since, since_id, number)
    CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority
        AND (scheduled_at, job_id) >= (place.since, place.since_id) AND scheduled_at <= moment
        AND (paused = '{}' OR 'tenant ' || tenant_id <> ALL (paused)) AND job_id <> ALL (passed_over)
      ORDER BY scheduled_at, job_id LIMIT 1) AS hit
    ORDER BY hit.scheduled_at, hit.job_id LIMIT 1;
    asked := asked || oldest;
    numbers := numbers || place_of_oldest;
  END IF;

  SELECT coalesce(array_agg(locked.job_id ORDER BY one.number) FILTER (WHERE NOT (ahead AND locked.is_last)), '{}'),
         count(*), coalesce(sum(locked.bytes), 0)
  INTO due, seen, bytes
  FROM (SELECT job_id, pot, number, row_number() OVER (PARTITION BY pot ORDER BY number) AS of_pot
        FROM (SELECT job_id, min(at_pots[place]) AS pot, min(number) AS number
              FROM unnest(asked, numbers) WITH ORDINALITY AS each (job_id, place, number) GROUP BY job_id) AS once) AS one
  CROSS JOIN LATERAL (
    SELECT job_id, pg_column_size(payload) AS bytes, attempts + 1 >= max_attempts AS is_last FROM jobs
    WHERE job_id = one.job_id AND status = 'QUEUED' AND scheduled_at <= moment
    FOR UPDATE SKIP LOCKED) AS locked
  WHERE one.pot IS NULL OR one.of_pot <= pots[one.pot];

  IF pots <> '{}' THEN
    pots := ARRAY(
      SELECT greatest(0, pots[pot] - (SELECT count(DISTINCT job_id) FROM unnest(asked, numbers) AS each (job_id, place)
                                      WHERE at_pots[place] = pot))
      FROM generate_subscripts(pots, 1) AS pot ORDER BY pot);
  END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_claim_turns FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_claim_turns TO bpc_worker;
