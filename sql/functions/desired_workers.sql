-- How many workers of so many slots there is work for: jobs that run and jobs that are due, of no paused queue, type or
-- tenant, and handled by somebody. Where no worker is there at all, all that is due counts: who comes will say what he
-- handles. Counted to 10,000 each, from place to place by the claim's indexes: neither what has ended nor what lies in the
-- future is read. Of jobs that are run alone, one runs at a time.
CREATE OR REPLACE FUNCTION bpc_desired_workers(slots integer) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
  SET enable_seqscan = off SET jit = off  -- whatever the statistics say: they may be of yesterday's table
AS $$
DECLARE
  most CONSTANT integer := 10000;
  moment CONSTANT timestamptz := clock_timestamp();
  has_workers boolean;
  paused_queues text[];
  paused_types text[];
  paused_tenants text[];
  jobs_to_run bigint;
BEGIN
  IF slots IS NULL OR slots < 1 THEN
    RAISE EXCEPTION 'a worker has at least one slot' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  has_workers := EXISTS (SELECT FROM workers WHERE expires_at > moment AND cardinality(types) > 0);
  SELECT coalesce(array_agg(name) FILTER (WHERE kind = 'queue'), '{}'),
         coalesce(array_agg(name) FILTER (WHERE kind = 'type'), '{}'),
         coalesce(array_agg(name) FILTER (WHERE kind = 'tenant'), '{}')
  INTO paused_queues, paused_types, paused_tenants
  FROM job_pauses WHERE expires_at IS NULL OR expires_at > moment;

  WITH RECURSIVE kind AS (
    (SELECT queue, type FROM jobs
     WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
       AND NOT has_workers
     ORDER BY queue, type LIMIT 1)
    UNION ALL
    SELECT next.queue, next.type FROM kind CROSS JOIN LATERAL (
      SELECT jobs.queue, jobs.type FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND (jobs.queue, jobs.type) > (kind.queue, kind.type)
      ORDER BY jobs.queue, jobs.type LIMIT 1) AS next
  ), place AS MATERIALIZED (
    SELECT known.queue, known.type, level.priority
    FROM (SELECT DISTINCT of_queue AS queue, of_type AS type
          FROM workers, unnest(queues) AS of_queue, unnest(types) AS of_type WHERE expires_at > moment
          UNION ALL
          SELECT * FROM kind) AS known,
         (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority),
         LATERAL (SELECT FROM jobs  -- not EXISTS: that becomes a join, which reads all that is due
                  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2)
                    AND jobs.priority >= 0 AND jobs.queue = known.queue AND jobs.type = known.type
                    AND jobs.priority = level.priority AND scheduled_at <= moment
                  LIMIT 1) AS due
    WHERE known.queue <> ALL (paused_queues) AND known.type <> ALL (paused_types)
  ), tenant AS (  -- the tenants that have jobs, where one of them is paused
    (SELECT tenant_id FROM jobs
     WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
       AND paused_tenants <> '{}' AND EXISTS (SELECT FROM place)
     ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT next.tenant_id FROM tenant CROSS JOIN LATERAL (
      SELECT jobs.tenant_id FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
        AND jobs.tenant_id > tenant.tenant_id
      ORDER BY jobs.tenant_id LIMIT 1) AS next
  )
  SELECT (SELECT count(*) FROM (
            SELECT FROM place CROSS JOIN LATERAL (
              SELECT FROM jobs
              WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2)
                AND jobs.priority >= 0 AND jobs.queue = place.queue AND jobs.type = place.type
                AND jobs.priority = place.priority AND scheduled_at <= moment
              LIMIT most) AS due
            WHERE paused_tenants = '{}'
            LIMIT most) AS counted)
       + (SELECT count(*) FROM (
            SELECT FROM tenant CROSS JOIN place CROSS JOIN LATERAL (
              SELECT FROM jobs
              WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2)
                AND jobs.priority <= 3 AND jobs.tenant_id = tenant.tenant_id AND jobs.queue = place.queue
                AND jobs.type = place.type AND jobs.priority = place.priority AND scheduled_at <= moment
              LIMIT most) AS due
            WHERE tenant.tenant_id::text <> ALL (paused_tenants)
            LIMIT most) AS counted)
       + (SELECT count(*) FROM (
            SELECT FROM (SELECT * FROM jobs
                         WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
                           AND scheduled_at <= moment
                         ORDER BY priority, scheduled_at LIMIT most) AS suspect
            WHERE queue <> ALL (paused_queues) AND type <> ALL (paused_types) AND tenant_id::text <> ALL (paused_tenants)
              AND (NOT has_workers OR EXISTS (
                SELECT FROM workers AS w
                WHERE w.expires_at > moment AND suspect.type = ANY (w.types) AND suspect.queue = ANY (w.queues)))
            LIMIT 1) AS counted)
       + (SELECT count(*) FROM (SELECT FROM jobs WHERE lease_expires_at IS NOT NULL LIMIT most) AS counted)
  INTO jobs_to_run;
  RETURN ceil(jobs_to_run::numeric / slots);
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_desired_workers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_desired_workers TO bpc_operator, bpc_reader;
