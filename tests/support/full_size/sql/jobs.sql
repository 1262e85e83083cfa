-- By the thousand: 860 succeeded, 60 dead letters, 10 failed, 20 cancelled, 50 wait: due, for later, or to be tried again.
INSERT INTO jobs (job_id, tenant_id, type, queue, status, priority, payload, attempts, max_attempts, scheduled_at,
                  created_at, started_at, finished_at, lease_token, last_error, fail_code, fail_reason, result,
                  expected_duration_ms, idempotency_key, correlation_id, parent_job_id)
SELECT (lpad(to_hex((extract(epoch FROM made.at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n / 4096 %% 4096), 3, '0')
        || '8' || lpad(to_hex(n), 15, '0'))::uuid,
       owners.ids[CASE WHEN n %% 10 < 7 THEN 1 ELSE 1 + n / 10 %% cardinality(owners.ids) END],
       kind.type, kind.queue, state.status, n %% 4,
       kind.payload || jsonb_build_object('build_id', md5('build ' || n / 10)::uuid),
       state.attempts, 5,
       made.at + state.later, made.at,
       CASE WHEN state.attempts > 0 THEN made.at + interval '2 seconds' END,
       CASE WHEN state.status NOT IN ('QUEUED') THEN made.at + interval '3 seconds' END,
       CASE WHEN state.attempts > 0 THEN md5('token ' || n)::uuid END,
       CASE WHEN state.wrong THEN jsonb_build_object('code', cause.code, 'message', said.message, 'retryable',
         cause.retryable, 'attempt', state.attempts, 'at', to_char(made.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
       END,
       CASE WHEN state.wrong THEN cause.code END, CASE WHEN state.wrong THEN said.message END,
       CASE WHEN state.status = 'SUCCEEDED' THEN '{}'::jsonb END,
       CASE WHEN n %% 3 = 0 THEN 60000 END,
       CASE WHEN n %% 2 = 0 THEN 'generated:' || n END,
       md5('build ' || n / 10)::uuid::text,
       CASE WHEN n %% 10 > 6 THEN md5('parent ' || n / 10)::uuid END
FROM generate_series(1, %(count)s) AS n
CROSS JOIN (SELECT array_agg(tenant_id ORDER BY created_at) AS ids FROM tenants) AS owners
CROSS JOIN LATERAL (
  SELECT now() - make_interval(secs => %(days)s * 86400 * (1 - n / %(count)s::float8) ^ 2) - interval '4 seconds' AS at
) AS made
CROSS JOIN LATERAL (SELECT ('x' || left(md5('state ' || n), 7))::bit(28)::integer %% 1000 AS of_thousand) AS dice
CROSS JOIN LATERAL (
  SELECT status, attempts, later, status IN ('DEAD_LETTER', 'FAILED') OR again AS wrong
  FROM (SELECT CASE WHEN of_thousand < 860 THEN 'SUCCEEDED' WHEN of_thousand < 920 THEN 'DEAD_LETTER'
                    WHEN of_thousand < 930 THEN 'FAILED' WHEN of_thousand < 950 THEN 'CANCELLED' ELSE 'QUEUED' END AS status,
               CASE WHEN of_thousand < 860 THEN 1 WHEN of_thousand < 920 THEN 5 WHEN of_thousand < 930 THEN 1
                    WHEN of_thousand < 990 THEN 0 ELSE 2 END AS attempts,
               CASE WHEN of_thousand BETWEEN 970 AND 999 THEN now() - made.at + make_interval(mins => of_thousand)
                    ELSE interval '0' END AS later,
               of_thousand >= 990 AS again) AS ruled
) AS state
CROSS JOIN LATERAL (SELECT * FROM job_kinds WHERE kind_id = n %% (SELECT count(*) FROM job_kinds)) AS kind
CROSS JOIN LATERAL (
  SELECT * FROM death_causes WHERE cause_id = ('x' || left(md5('cause ' || n), 7))::bit(28)::integer %% %(causes)s
) AS cause
CROSS JOIN LATERAL (
  SELECT replace(replace(replace(cause.message, '{n}', (n::bigint * 7919 %% 100000)::text), '{id}', md5('id ' || n)::uuid::text),
                 '{word}', 'part-' || chr(97 + n %% 26) || chr(97 + n / 26 %% 26)) AS message
) AS said
