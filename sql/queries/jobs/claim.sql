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
        AND job_id <> ALL (%(passed_over)s::uuid[])
      ORDER BY scheduled_at, job_id LIMIT CASE WHEN level.priority < 0 THEN least(1, place.most) ELSE place.most END) AS due
    WHERE place.priority = level.priority OR (level.priority < 0 AND %(oldest)s::boolean)
    ORDER BY due.scheduled_at, due.job_id LIMIT CASE WHEN level.priority < 0 THEN 1 END) AS hit
  LIMIT %(reach)s::integer
),
ring AS MATERIALIZED (  -- of every four jobs one goes round the tenants; the last row is where the ring has come to
  SELECT next.*, at.pots[next.place] AS pot, at.most[next.place] AS most
  FROM (SELECT array_agg(queue) AS queues, array_agg(type) AS types, array_agg(priority) AS priorities,
               array_agg(since) AS since, array_agg(since_id) AS since_ids, array_agg(pot) AS pots,
               array_agg(most) AS most, (SELECT names FROM paused) AS names
        FROM place WHERE most > 0) AS at
  CROSS JOIN LATERAL bpc_next_of_ring(
    %(share)s, %(ring_at)s, %(unserved)s, %(hops)s, queues, types, priorities, since, since_ids, names,
    coalesce(%(now)s::timestamptz, now())) AS next
  WHERE %(share)s::integer > 0
),
first AS MATERIALIZED (
  SELECT -2 AS priority, job_id, scheduled_at, pot, most FROM ring
  WHERE job_id IS NOT NULL AND job_id <> ALL (%(passed_over)s::uuid[]) UNION ALL
  SELECT priority, job_id, scheduled_at, pot, most FROM candidate
  WHERE priority < 0 AND job_id <> ALL (ARRAY(SELECT job_id FROM ring WHERE job_id IS NOT NULL))
),
wanted AS MATERIALIZED (
  SELECT job_id, priority, scheduled_at
  FROM (SELECT every.*, row_number() OVER (PARTITION BY pot ORDER BY priority, scheduled_at, job_id) AS of_pot
        FROM (SELECT * FROM first UNION ALL
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
    SELECT job_id FROM (
      SELECT taken.job_id, sum(taken.bytes) OVER (ROWS UNBOUNDED PRECEDING) - taken.bytes AS before FROM (
        SELECT locked.* FROM wanted CROSS JOIN LATERAL (
          SELECT job_id, pg_column_size(payload) AS bytes FROM jobs
          WHERE job_id = wanted.job_id AND status = 'QUEUED' AND scheduled_at <= coalesce(%(now)s::timestamptz, now())
            AND NOT (%(ahead)s::boolean AND attempts + 1 >= max_attempts)
          FOR UPDATE SKIP LOCKED) AS locked
        LIMIT %(limit)s::integer) AS taken) AS summed
    WHERE before = 0 OR before < %(claim_bytes)s::bigint))
  RETURNING job_id, lease_token, lease_owner, tenant_id, type, queue, priority,
            CASE WHEN pg_column_size(payload) <= %(inline_bytes)s::integer AND pg_column_compression(payload) IS NULL
                 THEN payload::text END AS payload,
            attempts, max_attempts, snoozes, scheduled_at, created_at, started_at, spec_hash, parent_job_id, correlation_id,
            traceparent, fail_code IS NOT DISTINCT FROM 'LEASE_EXPIRED' AS lease_expired_before,
            pg_column_size(payload) AS payload_bytes
),
-- include: held
    FOR UPDATE) AS job
),
-- include: settled
SELECT (SELECT count(*) FROM settled) AS ended, known.seen,
       CASE WHEN %(scan)s THEN (SELECT jsonb_agg(jsonb_build_array(queue, type, priority, since, since_id)) FROM place
                                WHERE since <= coalesce(%(now)s::timestamptz, now())) END AS live,
       turn.tenant_id AS ring_at, turn.remaining AS unserved, (SELECT job_id FROM wanted LIMIT 1) AS head,
       claimed.job_id = ANY (ARRAY(SELECT job_id FROM ring)) AS of_ring,
       CASE WHEN known.seen = 0 THEN (
         SELECT extract(epoch FROM min(later.scheduled_at) - coalesce(%(now)s::timestamptz, now()))::double precision
         FROM place CROSS JOIN LATERAL (
           SELECT scheduled_at FROM jobs
           WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0
             AND queue = place.queue AND type = place.type AND priority = place.priority
             AND scheduled_at > coalesce(%(now)s::timestamptz, now())
           ORDER BY scheduled_at LIMIT least(1, place.most)) AS later) END AS next_due,
       claimed.*
FROM (SELECT count(*) AS seen FROM wanted) AS known LEFT JOIN ring AS turn ON turn.job_id IS NULL LEFT JOIN claimed ON true
ORDER BY claimed.job_id <> ALL (ARRAY(SELECT job_id FROM first)), claimed.priority, claimed.scheduled_at, claimed.job_id
