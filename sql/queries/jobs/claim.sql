-- Take up to `limit` due jobs: best priority first, oldest first within it. Each gets a new token, which every later
-- write about this claim must name, made from a nonce: a call whose answer was lost can be undone (forget_claim.sql).
-- With the ends of other jobs; where somebody holds one of them for longer than lock_timeout, neither half happens.
-- A place is one (queue, type, priority), with the first row that is worth a look. A scan begins before the first place
-- of every queue and goes from one to the next by the index; without it, the places told are all. Candidates are read
-- without locking, a few more than wanted, then locked in their order; what others hold is passed over. Some types share
-- a pot, from which only so many are taken. By turns the first is another one: the next tenant's in the ring, or the
-- oldest whatever its priority. Suspects are not among them: claim_suspect.sql takes those.
-- `priority >= 0` says that jobs_probe is meant, `<= 3` jobs_ring. There is a row even when nothing was claimed.
WITH RECURSIVE paused AS MATERIALIZED (
  SELECT ARRAY(SELECT kind || ' ' || name FROM job_pauses
               WHERE expires_at IS NULL OR expires_at > coalesce(%(now)s::timestamptz, now())) AS names
),
walk (queue, type, priority, since, since_id) AS (
  SELECT remembered.* FROM unnest(%(at_queues)s::text[], %(at_types)s::text[], %(at_priorities)s::smallint[],
                                  %(since)s::timestamptz[], %(since_ids)s::uuid[]) AS remembered
  UNION ALL
  SELECT next.* FROM walk CROSS JOIN LATERAL (
    SELECT queue, type, priority, scheduled_at, job_id FROM jobs
    WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
      AND queue = walk.queue AND (type, priority) > (walk.type, walk.priority)
    ORDER BY type, priority, scheduled_at, job_id LIMIT 1) AS next
  WHERE %(scan)s::boolean
),
place AS MATERIALIZED (
  SELECT queue, type, priority, since, since_id, names, pot, least((%(pots)s::integer[])[pot], %(window)s::integer) AS most
  FROM paused, walk JOIN unnest(%(types)s::text[], %(pot)s::integer[]) AS mine (type, pot) USING (type)
  WHERE NOT ARRAY['queue ' || queue, 'type ' || type] && names
),
candidate AS MATERIALIZED (  -- level by level, no further than needed; above them all, in its turn, the oldest
  SELECT hit.job_id, level.priority, hit.scheduled_at, hit.pot, hit.most
  FROM (VALUES (-1), (0), (1), (2), (3)) AS level (priority) CROSS JOIN LATERAL (
    SELECT due.job_id, due.scheduled_at, place.pot, place.most
    FROM place CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
        AND queue = place.queue AND type = place.type AND priority = place.priority
        AND (scheduled_at, job_id) >= (place.since, place.since_id)
        AND scheduled_at <= coalesce(%(now)s::timestamptz, now()) AND 'tenant ' || tenant_id <> ALL (place.names)
      ORDER BY scheduled_at, job_id LIMIT CASE WHEN level.priority < 0 THEN least(1, place.most) ELSE place.most END) AS due
    WHERE place.priority = level.priority OR (level.priority < 0 AND %(turn)s = 'oldest')
    ORDER BY due.scheduled_at, due.job_id LIMIT CASE WHEN level.priority < 0 THEN 1 END) AS hit
  LIMIT %(reach)s::integer
),
ring AS MATERIALIZED (  -- the next few tenants after the last one so served, round and round
  SELECT tenant_id FROM (
    (SELECT tenant_id FROM tenants WHERE tenant_id > %(ring_after)s::uuid ORDER BY tenant_id) UNION ALL
    (SELECT tenant_id FROM tenants WHERE tenant_id <= %(ring_after)s::uuid ORDER BY tenant_id)) AS round
  WHERE %(turn)s = 'ring' LIMIT %(hops)s::integer
),
next_of_ring AS MATERIALIZED (  -- in the ring's order; to ask for it would mean to ask all of them
  SELECT ring.tenant_id, best.job_id, best.scheduled_at, best.pot, best.most
  FROM ring CROSS JOIN LATERAL (
    SELECT due.job_id, due.scheduled_at, place.pot, place.most
    FROM place CROSS JOIN LATERAL (
      SELECT job_id, scheduled_at FROM jobs
      WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3
        AND tenant_id = ring.tenant_id AND queue = place.queue AND type = place.type AND priority = place.priority
        AND (scheduled_at, job_id) >= (place.since, place.since_id)
        AND scheduled_at <= coalesce(%(now)s::timestamptz, now()) AND 'tenant ' || tenant_id <> ALL (place.names)
      ORDER BY scheduled_at, job_id LIMIT least(1, place.most)) AS due
    ORDER BY place.priority, due.scheduled_at, due.job_id LIMIT 1) AS best
  LIMIT 1
),
first AS MATERIALIZED (
  SELECT job_id, scheduled_at, pot, most FROM next_of_ring UNION ALL
  SELECT job_id, scheduled_at, pot, most FROM candidate WHERE priority < 0
),
wanted AS MATERIALIZED (
  SELECT job_id, priority, scheduled_at
  FROM (SELECT every.*, row_number() OVER (PARTITION BY pot ORDER BY priority, scheduled_at, job_id) AS of_pot
        FROM (SELECT -1 AS priority, first.* FROM first UNION ALL
              SELECT priority, job_id, scheduled_at, pot, most FROM candidate
              WHERE priority >= 0 AND job_id <> ALL (ARRAY(SELECT job_id FROM first))) AS every) AS ranked
  WHERE pot IS NULL OR of_pot <= most ORDER BY priority, scheduled_at, job_id
),
claimed AS (
  UPDATE jobs
  SET status = 'RUNNING', attempts = attempts + 1, lease_owner = %(owner)s, stage = NULL, progress = NULL,
      lease_token = encode(substring(sha256(convert_to(%(nonce)s::text || job_id, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid,
      lease_expires_at = coalesce(%(now)s::timestamptz, now()) + make_interval(secs => %(lease_seconds)s),
      last_heartbeat_at = coalesce(%(now)s::timestamptz, now()), started_at = coalesce(%(now)s::timestamptz, now())
  WHERE job_id = ANY (ARRAY(
    SELECT locked.job_id FROM wanted CROSS JOIN LATERAL (
      SELECT job_id FROM jobs
      WHERE job_id = wanted.job_id AND status = 'QUEUED' AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
      FOR UPDATE SKIP LOCKED) AS locked
    LIMIT %(limit)s::integer))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority, payload::text AS payload, attempts,
            max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id,
            traceparent, fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AS lease_expired_before
),
-- include: held
    FOR UPDATE) AS job
),
-- include: settled
SELECT (SELECT count(*) FROM settled) AS ended, known.seen,
       CASE WHEN %(scan)s THEN (SELECT jsonb_agg(jsonb_build_array(queue, type, priority, since, since_id)) FROM place
                                WHERE since <= coalesce(%(now)s::timestamptz, now())) END AS live,
       coalesce((SELECT tenant_id FROM next_of_ring), (SELECT (array_agg(tenant_id))[count(*)] FROM ring)) AS ring_at,
       CASE WHEN known.seen = 0 THEN (
         SELECT extract(epoch FROM min(later.scheduled_at) - coalesce(%(now)s::timestamptz, now()))::double precision
         FROM place CROSS JOIN LATERAL (
           SELECT scheduled_at FROM jobs
           WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
             AND queue = place.queue AND type = place.type AND priority = place.priority
             AND scheduled_at > coalesce(%(now)s::timestamptz, now())
           ORDER BY scheduled_at LIMIT least(1, place.most)) AS later) END AS next_due,
       claimed.*
FROM (SELECT count(*) AS seen FROM wanted) AS known LEFT JOIN claimed ON true
ORDER BY claimed.job_id <> ALL (ARRAY(SELECT job_id FROM first)), claimed.priority, claimed.scheduled_at, claimed.job_id
