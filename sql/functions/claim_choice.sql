-- What a claim would take, in order: `due`; of these `round` are the next tenants', and `oldest` begins. Read without
-- locking, a few more than wanted. In steps, each with a plan of its own that stays with the session: as one statement,
-- its lines of plan cost more to set up than to carry out. `priority >= 0` means jobs_probe, `<= 3` jobs_ring.
CREATE OR REPLACE FUNCTION bpc_choose_jobs(
  passed_over uuid[], moment timestamptz, scan boolean, at_queues text[], at_types text[], at_priorities smallint[],
  since timestamptz[], since_ids uuid[], mine text[], pot_of_mine integer[], pots integer[], in_reach integer,
  at_place integer, from_the_oldest boolean, share integer, ring_at uuid, unserved integer, hops integer,
  OUT due uuid[], OUT round uuid[], OUT oldest uuid, OUT live jsonb, OUT ring_tenant uuid, OUT ring_left integer,
  OUT next_due double precision)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  paused text[] := ARRAY(SELECT kind || ' ' || name FROM job_pauses WHERE expires_at IS NULL OR expires_at > moment);
  limits integer[];  -- how many a place may give
  at_pot integer[];
  level  smallint;
  page   uuid[];
  page_pots integer[];
  of_pot integer[] := '{}';
BEGIN
  due := '{}';
  round := '{}';
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

  FOREACH level IN ARRAY '{-1,0,1,2,3}'::smallint[] LOOP  -- no further than needed; above them all the oldest
    CONTINUE WHEN CASE WHEN level < 0 THEN NOT from_the_oldest ELSE NOT level = ANY (at_priorities) END
      OR cardinality(due) >= in_reach;
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
            ORDER BY scheduled_at, job_id LIMIT CASE WHEN level < 0 THEN least(1, place.most) ELSE place.most END) AS hit
          WHERE level < 0 OR place.priority = level
          ORDER BY hit.scheduled_at, hit.job_id
          LIMIT CASE WHEN level < 0 THEN 1 ELSE in_reach - cardinality(due) END) AS ordered;
    oldest := CASE WHEN level < 0 THEN page[1] ELSE oldest END;
    due := due || page;
    of_pot := of_pot || page_pots;
  END LOOP;

  IF share > 0 AND due <> '{}' AND EXISTS (SELECT FROM tenants OFFSET 1) THEN  -- of every four jobs one goes round the tenants
    SELECT array_agg(next.job_id ORDER BY next.scheduled_at, next.job_id) FILTER (WHERE next.is_wanted),
           array_agg(at_pot[next.place] ORDER BY next.scheduled_at, next.job_id) FILTER (WHERE next.is_wanted),
           (array_agg(next.tenant_id) FILTER (WHERE next.job_id IS NULL))[1],
           (array_agg(next.remaining) FILTER (WHERE next.job_id IS NULL))[1]
    INTO page, page_pots, ring_tenant, ring_left
    FROM (SELECT *, job_id IS NOT NULL AND job_id <> ALL (passed_over) AS is_wanted
          FROM bpc_next_of_ring(share, ring_at, unserved, hops, at_queues, at_types, at_priorities, since, since_ids,
                                limits, paused, moment)) AS next;
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

  IF due = '{}' THEN
    SELECT extract(epoch FROM min(later.scheduled_at) - moment) INTO next_due
    FROM unnest(at_queues, at_types, at_priorities, limits) AS place (queue, type, priority, most)
    CROSS JOIN LATERAL (
      SELECT scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority AND scheduled_at > moment
      ORDER BY scheduled_at LIMIT least(1, place.most)) AS later;
  END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_choose_jobs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_choose_jobs TO bpc_worker;
