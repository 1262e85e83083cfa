-- How many dead letters match, as far as `most`, and as of when that is.
SELECT bpc_dead_count(
  %(tenant_id)s::uuid, %(status)s::text, %(type)s::text, %(code)s::text, %(fingerprint)s::text, NULL, clock.before,
  %(most)s) AS count, clock.before
FROM (SELECT coalesce(%(before)s::timestamptz, clock_timestamp()) AS before) AS clock
