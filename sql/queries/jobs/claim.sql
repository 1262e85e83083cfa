-- Take up to `limit` due jobs: best priority first, oldest first within it. Each gets a new token, which
-- every later write about this claim must name; it is derived from a nonce of this call, so that a call
-- whose answer was lost can be undone (forget_claim.sql). The CTEs are materialised so that each runs once.
--
-- A probe is one (queue, type, priority) of this worker, with the first row of the index that is worth a look. What
-- is paused is left out. A scan says which index it means by `priority >= 0` or `<= 3` (migration 0007). Probes
-- read without locking, and a little more than is wanted; then the rows are locked in their order, and what
-- somebody else holds is passed over.
-- Some probes share a pot, from which only so many may be taken.
-- By turns the first is another one: the next tenant's in the ring, or the oldest whatever its priority.
-- A suspect (its last holder died on it at least twice) is taken only by an idle worker, and alone:
-- otherwise a job that kills its process takes its neighbours with it.
-- The first row is no job: it says what else there is to know, also when nothing was claimed.
-- With the ends of jobs that succeeded, as in claim_at_place.sql.
-- What only some claims need stands between `-- if` and `-- end` (sql_files.py): to set up a plan has its cost too.
WITH clock AS MATERIALIZED (
  SELECT coalesce(%(now)s::timestamptz, now()) AS now
),
paused AS MATERIALIZED (
  SELECT kind, name FROM job_pauses
  WHERE expires_at IS NULL OR expires_at > (SELECT now FROM clock)
),
probe AS MATERIALIZED (
  SELECT place, queue, type, priority, since, since_id, pot, coalesce((%(pots)s::integer[])[pot], %(window)s::integer) AS most
  FROM unnest(%(queues)s::text[], %(types)s::text[], %(priorities)s::smallint[], %(since)s::timestamptz[],
              %(since_ids)s::uuid[], %(pot)s::integer[])
       WITH ORDINALITY AS asked (queue, type, priority, since, since_id, pot, place)
  WHERE NOT EXISTS (SELECT FROM paused WHERE (kind = 'queue' AND name = queue) OR (kind = 'type' AND name = type))
),
-- if suspects
suspect AS MATERIALIZED (
  SELECT job_id FROM jobs
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
    AND scheduled_at <= (SELECT now FROM clock)
    AND (queue, type) IN (SELECT queue, type FROM probe)
    AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
  ORDER BY priority, scheduled_at, job_id
  LIMIT 1
  FOR UPDATE SKIP LOCKED
),
-- end
candidate AS MATERIALIZED (  -- level by level, and no further than needed
  SELECT found.job_id, level.priority, found.scheduled_at, found.place, found.pot, found.most
  FROM (VALUES (0::smallint), (1::smallint), (2::smallint), (3::smallint)) AS level (priority)
  CROSS JOIN LATERAL (
    SELECT hit.job_id, hit.scheduled_at, probe.place, probe.pot, probe.most
    FROM probe
    CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = probe.queue AND type = probe.type AND priority = level.priority
        AND (scheduled_at, job_id) >= (probe.since, probe.since_id) AND scheduled_at <= (SELECT now FROM clock)
        AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
      ORDER BY scheduled_at, job_id
      LIMIT probe.most
    ) AS hit
    WHERE probe.priority = level.priority
    ORDER BY hit.scheduled_at, hit.job_id
    LIMIT %(reach)s::integer
  ) AS found
  -- if suspects
  WHERE NOT EXISTS (SELECT FROM suspect)
  -- end
  LIMIT %(reach)s::integer
),
-- if turns
ring AS MATERIALIZED (  -- the next few tenants after the last one so served, round and round
  SELECT lap, tenant_id
  FROM (
    (SELECT 1 AS lap, tenant_id FROM tenants WHERE tenant_id > %(ring_after)s::uuid
     ORDER BY tenant_id LIMIT %(hops)s::integer)
    UNION ALL
    (SELECT 2, tenant_id FROM tenants WHERE tenant_id <= %(ring_after)s::uuid
     ORDER BY tenant_id LIMIT %(hops)s::integer)
  ) AS round
  WHERE %(turn)s = 'ring'
    -- if suspects
    AND NOT EXISTS (SELECT FROM suspect)
    -- end
  ORDER BY lap, tenant_id
  LIMIT %(hops)s::integer
),
next_of_ring AS MATERIALIZED (  -- in the ring's order; to ask for it would mean to ask all of them
  SELECT ring.tenant_id, best.job_id, best.pot
  FROM ring
  CROSS JOIN LATERAL (
    SELECT hit.job_id, probe.pot
    FROM probe
    CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
        AND tenant_id = ring.tenant_id AND queue = probe.queue AND type = probe.type AND priority = probe.priority
        AND (scheduled_at, job_id) >= (probe.since, probe.since_id) AND scheduled_at <= (SELECT now FROM clock)
      ORDER BY scheduled_at, job_id
      LIMIT 1
    ) AS hit
    ORDER BY probe.priority, hit.scheduled_at, hit.job_id
    LIMIT 1
  ) AS best
  WHERE ring.tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
  LIMIT 1
),
head AS MATERIALIZED (
  SELECT hit.job_id, hit.scheduled_at, probe.place, probe.pot
  FROM probe
  CROSS JOIN LATERAL (
    SELECT job_id, scheduled_at FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
      AND queue = probe.queue AND type = probe.type AND priority = probe.priority
      AND (scheduled_at, job_id) >= (probe.since, probe.since_id) AND scheduled_at <= (SELECT now FROM clock)
      AND tenant_id::text <> ALL (ARRAY(SELECT name FROM paused WHERE kind = 'tenant'))
    ORDER BY scheduled_at, job_id
    LIMIT 1
  ) AS hit
  WHERE %(turn)s = 'oldest'
    -- if suspects
    AND NOT EXISTS (SELECT FROM suspect)
    -- end
),
first AS MATERIALIZED (
  SELECT job_id, pot FROM next_of_ring
  UNION ALL
  (SELECT job_id, pot FROM head ORDER BY scheduled_at, job_id LIMIT 1)
),
-- end
wanted AS MATERIALIZED (
  -- if turns
  SELECT job_id, 0 AS rank FROM first
  UNION ALL
  -- end
  SELECT job_id, rank
  FROM (
    SELECT job_id, pot, most,
           row_number() OVER (ORDER BY priority, scheduled_at, job_id) AS rank,
           row_number() OVER (PARTITION BY pot ORDER BY priority, scheduled_at, job_id) AS of_pot
    FROM candidate
    -- if turns
    WHERE job_id NOT IN (SELECT job_id FROM first)
    -- end
  ) AS ranked
  WHERE pot IS NULL OR of_pot
    -- if turns
    + (SELECT count(*) FROM first WHERE first.pot = ranked.pot)
    -- end
    <= most
),
locked AS MATERIALIZED (
  SELECT jobs.job_id, wanted.rank
  FROM wanted JOIN jobs USING (job_id)
  WHERE jobs.status = 'QUEUED' AND jobs.scheduled_at <= (SELECT now FROM clock)  -- again, now that it is locked
  ORDER BY wanted.rank
  LIMIT %(limit)s::integer
  FOR UPDATE OF jobs SKIP LOCKED
),
-- if ends
ended AS (
  UPDATE jobs
  SET status = 'SUCCEEDED',
      snoozes = 0,
      finished_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
      lease_owner = NULL,
      lease_expires_at = NULL,
      fail_code = NULL,
      fail_reason = NULL,
      result = told.result::jsonb,
      spec_hash = coalesce(jobs.spec_hash, told.spec_hash)
  FROM unnest(%(ended_ids)s::uuid[], %(ended_tokens)s::uuid[], %(results)s::text[], %(spec_hashes)s::bytea[])
       AS told (job_id, lease_token, result, spec_hash)
  WHERE jobs.job_id = told.job_id AND jobs.lease_token = told.lease_token AND jobs.lease_owner IS NOT NULL
  RETURNING jobs.job_id
),
-- end
claimed AS (
  UPDATE jobs
  SET status = 'RUNNING',
      attempts = attempts + 1,
      lease_owner = %(owner)s,
      lease_token = encode(substring(sha256(convert_to(%(nonce)s::text || job_id::text, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
      lease_expires_at = (SELECT now FROM clock) + make_interval(secs => %(lease_seconds)s),
      last_heartbeat_at = (SELECT now FROM clock),
      started_at = (SELECT now FROM clock),
      stage = NULL,
      progress = NULL
  WHERE job_id = ANY (ARRAY(
    -- if suspects
    SELECT job_id FROM suspect UNION ALL
    -- end
    SELECT job_id FROM locked))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority, payload::text AS payload, attempts,
            max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id, traceparent,
            fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AND attempts > 2 AS suspect
),
known AS MATERIALIZED (
  SELECT
    NULL::uuid AS job_id,
    -- if ends
    (SELECT count(*) FROM ended) AS ended,
    -- end
    -- if no ends
    0 AS ended,
    -- end
    (SELECT count(*) FROM wanted) AS seen,
    ARRAY(SELECT DISTINCT place FROM candidate) AS live,
    -- if turns
    coalesce((SELECT tenant_id FROM next_of_ring),
             (SELECT tenant_id FROM ring ORDER BY lap DESC, tenant_id DESC LIMIT 1)) AS ring_at,
    CASE WHEN %(turn)s = 'oldest' THEN ARRAY(SELECT place FROM head) END AS heads,
    -- end
    -- if no turns
    NULL::uuid AS ring_at,
    NULL::bigint[] AS heads,
    -- end
    CASE WHEN NOT EXISTS (SELECT FROM wanted) THEN (
      SELECT extract(epoch FROM min(later.scheduled_at) - (SELECT now FROM clock))::double precision
      FROM probe
      CROSS JOIN LATERAL (
        SELECT scheduled_at FROM jobs
        WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
          AND queue = probe.queue AND type = probe.type AND priority = probe.priority
          AND scheduled_at > (SELECT now FROM clock)
        ORDER BY scheduled_at
        LIMIT 1
      ) AS later
    ) END AS next_due
)
SELECT known.ended, known.seen, known.live, known.ring_at, known.heads, known.next_due, claimed.*
FROM known
FULL JOIN claimed ON claimed.job_id = known.job_id
LEFT JOIN locked ON locked.job_id = claimed.job_id
ORDER BY known.seen, locked.rank
