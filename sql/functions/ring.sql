-- Whose turn it is in the ring of tenants: up to `share` due jobs. A visit gives a tenant's best ones, as many as its
-- weight says, then the next tenant has its turn, round and round while anybody has jobs. `ring_at` is where the last
-- claim came to, `unserved` what was left of that visit. At most `hops` visits; the next claim goes on from there.
-- The last row has no job: it says where the ring has come to. Places are those of the claim, each with the first row
-- that is worth a look; `place` is the number of the job's, from 1. It locks nothing and changes nothing.
CREATE OR REPLACE FUNCTION bpc_next_of_ring(
  share integer, ring_at uuid, unserved integer, hops integer, queues text[], types text[], priorities smallint[],
  since timestamptz[], since_ids uuid[], paused text[], as_of timestamptz)
RETURNS TABLE (tenant_id uuid, job_id uuid, scheduled_at timestamptz, place integer, remaining integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  round   uuid[];
  weights integer[];
  given   integer[];
  here    integer := 1;
  visits  integer := 0;
  barren  integer := 0;  -- visits in a row that found nothing
  visit   integer;
  allowed integer;
  found   integer;
BEGIN
  SELECT array_agg(next.tenant_id), array_agg(next.weight), array_agg(0) INTO round, weights, given
  FROM ((SELECT t.tenant_id, t.weight FROM tenants AS t WHERE t.tenant_id = ring_at AND unserved > 0) UNION ALL
        (SELECT t.tenant_id, t.weight FROM tenants AS t WHERE t.tenant_id > ring_at
         ORDER BY t.tenant_id LIMIT hops) UNION ALL
        (SELECT t.tenant_id, t.weight FROM tenants AS t WHERE t.tenant_id <= ring_at
           AND (t.tenant_id < ring_at OR unserved <= 0) ORDER BY t.tenant_id LIMIT hops)
        LIMIT hops) AS next;
  tenant_id := ring_at;
  remaining := unserved;
  WHILE cardinality(round) > 1  -- alone, a tenant has all the turns there are
    AND share > 0 AND visits < hops AND barren < cardinality(round) LOOP
    tenant_id := round[here];
    visit := CASE WHEN remaining > 0 THEN remaining ELSE weights[here] END;
    allowed := CASE WHEN barren = cardinality(round) - 1 THEN share ELSE least(share, visit) END;
    found := 0;
    FOR job_id, scheduled_at, place IN
      SELECT due.job_id, due.scheduled_at, at.place
      FROM unnest(queues, types, priorities, since, since_ids) WITH ORDINALITY
             AS at (queue, type, priority, since, since_id, place)
      CROSS JOIN LATERAL (
        SELECT jobs.job_id, jobs.scheduled_at FROM jobs
        WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND jobs.priority <= 3
          AND jobs.tenant_id = round[here] AND jobs.queue = at.queue AND jobs.type = at.type
          AND jobs.priority = at.priority AND (jobs.scheduled_at, jobs.job_id) >= (at.since, at.since_id)
          AND jobs.scheduled_at <= as_of
        ORDER BY jobs.scheduled_at, jobs.job_id LIMIT given[here] + allowed) AS due
      WHERE 'tenant ' || round[here] <> ALL (paused)
      ORDER BY at.priority, due.scheduled_at, due.job_id OFFSET given[here] LIMIT allowed
    LOOP
      found := found + 1;
      RETURN NEXT;
    END LOOP;
    share := share - found;
    remaining := CASE WHEN share > 0 THEN 0 ELSE visit - found END;
    IF remaining < 0 THEN  -- it had several visits at once
      remaining := (weights[here] + remaining % weights[here]) % weights[here];
    END IF;
    given[here] := given[here] + found;
    barren := CASE WHEN found > 0 THEN 0 ELSE barren + 1 END;
    visits := visits + 1;
    here := here % cardinality(round) + 1;
  END LOOP;
  job_id := NULL;
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_next_of_ring FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_next_of_ring TO bpc_worker;
