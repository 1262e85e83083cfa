-- How much there is of every kind of job, for whoever may see jobs: of all tenants or of one (bpc_seen_tenant). From kind to
-- kind by the index; counts end at `most`. Of what runs and what has died since `since`, likewise.
CREATE OR REPLACE FUNCTION bpc_job_kinds(of_tenant uuid, most integer, since timestamptz)
RETURNS TABLE (queue text, type text, waiting bigint, oldest_at timestamptz, running bigint, dead bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
  SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  seen uuid := bpc_seen_tenant(of_tenant);
BEGIN
  RETURN QUERY
  SELECT found.queue, found.type, sum(found.waiting)::bigint, min(found.oldest_at), sum(found.running)::bigint,
         sum(found.dead)::bigint
  FROM (
    SELECT w.queue, w.type, w.waiting, w.oldest_at, 0::bigint AS running, 0::bigint AS dead
    FROM bpc_waiting_kinds(seen, most) AS w
    UNION ALL
    SELECT j.queue, j.type, 1, j.scheduled_at, 0, 0 FROM jobs AS j
    WHERE j.status = 'QUEUED' AND j.fail_code = 'LEASE_EXPIRED' AND j.attempts >= 2
      AND (seen IS NULL OR j.tenant_id = seen)
    UNION ALL
    SELECT j.queue, j.type, 0, NULL, 1, 0 FROM jobs AS j
    WHERE j.lease_expires_at IS NOT NULL AND (seen IS NULL OR j.tenant_id = seen)
    UNION ALL
    SELECT died.queue, died.type, 0, NULL, 0, 1 FROM (
      SELECT j.queue, j.type FROM jobs AS j
      WHERE j.status IN ('DEAD_LETTER', 'FAILED') AND j.status = 'DEAD_LETTER' AND j.finished_at >= since
        AND (seen IS NULL OR j.tenant_id = seen)
      LIMIT most) AS died
  ) AS found
  GROUP BY found.queue, found.type
  ORDER BY found.queue, found.type;
END
$$;

-- What waits, of every kind: by the index of places, or by that of a tenant's.
CREATE OR REPLACE FUNCTION bpc_waiting_kinds(seen uuid, most integer)
RETURNS TABLE (queue text, type text, waiting bigint, oldest_at timestamptz)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
  SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
BEGIN
  IF seen IS NULL THEN
    RETURN QUERY
    WITH RECURSIVE place AS (
      (SELECT j.queue, j.type, j.priority FROM jobs AS j
       WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority >= 0
       ORDER BY j.queue, j.type, j.priority
       LIMIT 1)
      UNION ALL
      SELECT next.queue, next.type, next.priority
      FROM place CROSS JOIN LATERAL (
        SELECT j.queue, j.type, j.priority FROM jobs AS j
        WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority >= 0
          AND (j.queue, j.type, j.priority) > (place.queue, place.type, place.priority)
        ORDER BY j.queue, j.type, j.priority
        LIMIT 1
      ) AS next
    )
    SELECT place.queue, place.type, counted.n, first.scheduled_at
    FROM place
    CROSS JOIN LATERAL (
      SELECT count(*) AS n FROM (
        SELECT FROM jobs AS j
        WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority >= 0
          AND j.queue = place.queue AND j.type = place.type AND j.priority = place.priority
        LIMIT most) AS bounded
    ) AS counted
    LEFT JOIN LATERAL (
      SELECT j.scheduled_at FROM jobs AS j
      WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority >= 0
        AND j.queue = place.queue AND j.type = place.type AND j.priority = place.priority
        AND j.scheduled_at <= clock_timestamp()
      ORDER BY j.scheduled_at
      LIMIT 1
    ) AS first ON true;
    RETURN;
  END IF;
  RETURN QUERY
  WITH RECURSIVE place AS (
    (SELECT j.queue, j.type, j.priority FROM jobs AS j
     WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority <= 3
       AND j.tenant_id = seen
     ORDER BY j.queue, j.type, j.priority
     LIMIT 1)
    UNION ALL
    SELECT next.queue, next.type, next.priority
    FROM place CROSS JOIN LATERAL (
      SELECT j.queue, j.type, j.priority FROM jobs AS j
      WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority <= 3
        AND j.tenant_id = seen AND (j.queue, j.type, j.priority) > (place.queue, place.type, place.priority)
      ORDER BY j.queue, j.type, j.priority
      LIMIT 1
    ) AS next
  )
  SELECT place.queue, place.type, counted.n, first.scheduled_at
  FROM place
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM jobs AS j
      WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority <= 3
        AND j.tenant_id = seen AND j.queue = place.queue AND j.type = place.type AND j.priority = place.priority
      LIMIT most) AS bounded
  ) AS counted
  LEFT JOIN LATERAL (
    SELECT j.scheduled_at FROM jobs AS j
    WHERE j.status = 'QUEUED' AND (j.fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR j.attempts < 2) AND j.priority <= 3
      AND j.tenant_id = seen AND j.queue = place.queue AND j.type = place.type AND j.priority = place.priority
      AND j.scheduled_at <= clock_timestamp()
    ORDER BY j.scheduled_at
    LIMIT 1
  ) AS first ON true;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_job_kinds, bpc_waiting_kinds FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_job_kinds TO bpc_operator, bpc_reader, bpc_app;
