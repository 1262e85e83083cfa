-- Where a claim looks: of the places told, those that are not paused and of whose pot something may be taken. A scan
-- begins before the first place of every queue and goes from one to the next by the index; `live` are those at which
-- something is due, whatever their pots hold. Where no place has a pot there are none.
CREATE OR REPLACE FUNCTION bpc_claim_places(
  scan boolean, INOUT at_queues text[], INOUT at_types text[], INOUT at_priorities smallint[], INOUT since timestamptz[],
  INOUT since_ids uuid[], INOUT pots integer[], mine text[], pot_of_mine integer[], paused text[], moment timestamptz,
  OUT at_pots integer[], OUT live jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  IF scan THEN
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
  END IF;

  IF pots <> '{}' OR paused <> '{}' THEN
    SELECT array_agg(queue), array_agg(type), array_agg(priority), array_agg(place.since), array_agg(since_id),
           array_agg(pot), CASE WHEN count(pot) = 0 THEN '{}' ELSE pots END
    INTO at_queues, at_types, at_priorities, since, since_ids, at_pots, pots
    FROM unnest(at_queues, at_types, at_priorities, since, since_ids) AS place (queue, type, priority, since, since_id)
    CROSS JOIN LATERAL (SELECT pot_of_mine[array_position(mine, type)] AS pot) AS its
    WHERE NOT ARRAY['queue ' || queue, 'type ' || type] && paused AND (pot IS NULL OR pots[pot] > 0);
  END IF;
END
$$;

-- How many of the next `wanted` jobs of a level are at which of its places: the best of all of them, read without locking.
-- Of a pot no more than it holds; what they leave of it is told.
CREATE OR REPLACE FUNCTION bpc_claim_shares(
  level smallint, wanted integer, INOUT here integer[], at_queues text[], at_types text[], since timestamptz[],
  since_ids uuid[], at_pots integer[], INOUT pots integer[], paused text[], passed_over uuid[], moment timestamptz,
  OUT shares integer[])
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  SELECT coalesce(array_agg(counted.number), '{}'), array_agg(counted.count) INTO here, shares
  FROM (
    SELECT number, count(*) AS count FROM (
      SELECT number FROM (
        SELECT place.number, hit.scheduled_at, hit.job_id, at_pots[place.number] AS pot,
               row_number() OVER (PARTITION BY at_pots[place.number] ORDER BY hit.scheduled_at, hit.job_id) AS of_pot
        FROM unnest(here) AS place (number)
        CROSS JOIN LATERAL (
          SELECT scheduled_at, job_id FROM jobs
          WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
            AND queue = at_queues[place.number] AND type = at_types[place.number] AND priority = level
            AND (scheduled_at, job_id) >= (since[place.number], since_ids[place.number]) AND scheduled_at <= moment
            AND (paused = '{}' OR 'tenant ' || tenant_id <> ALL (paused)) AND job_id <> ALL (passed_over)
          ORDER BY scheduled_at, job_id LIMIT least(wanted, pots[at_pots[place.number]])) AS hit) AS ranked
      WHERE pot IS NULL OR of_pot <= pots[pot]
      ORDER BY scheduled_at, job_id LIMIT wanted) AS best
    GROUP BY number) AS counted;

  IF pots <> '{}' THEN
    pots := ARRAY(
      SELECT pots[pot] - coalesce((SELECT sum(share) FROM unnest(here, shares) AS its (number, share)
                                   WHERE at_pots[number] = pot), 0)
      FROM generate_subscripts(pots, 1) AS pot ORDER BY pot);
  END IF;
END
$$;

-- Where a claim took nothing: whether something is due all the same, in the hands of others; if not, when the next falls due.
CREATE OR REPLACE FUNCTION bpc_claim_later(
  at_queues text[], at_types text[], at_priorities smallint[], since timestamptz[], since_ids uuid[], paused text[],
  passed_over uuid[], moment timestamptz, OUT seen integer, OUT next_due double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  SELECT count(*) INTO seen FROM (
    SELECT FROM unnest(at_queues, at_types, at_priorities, since, since_ids)
                  AS place (queue, type, priority, since, since_id)
    CROSS JOIN LATERAL (
      SELECT FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority
        AND (scheduled_at, job_id) >= (place.since, place.since_id) AND scheduled_at <= moment
        AND (paused = '{}' OR 'tenant ' || tenant_id <> ALL (paused)) AND job_id <> ALL (passed_over)
      ORDER BY scheduled_at, job_id LIMIT 1) AS hit
    LIMIT 1) AS one;
  IF seen = 0 THEN
    SELECT extract(epoch FROM min(later.scheduled_at) - moment) INTO next_due
    FROM unnest(at_queues, at_types, at_priorities) AS place (queue, type, priority)
    CROSS JOIN LATERAL (
      SELECT scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority AND scheduled_at > moment
      ORDER BY scheduled_at LIMIT 1) AS later;
  END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_claim_places, bpc_claim_shares, bpc_claim_later FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_claim_places, bpc_claim_shares, bpc_claim_later TO bpc_worker;
