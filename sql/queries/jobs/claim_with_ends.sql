-- The same as claim.sql, and how other jobs ended, in one trip. Where somebody holds one of their rows for longer than
-- lock_timeout, neither half happens.
WITH ends AS (
-- include: told
),
-- include: settled
SELECT (SELECT count(*) FROM settled) AS ended, claim.*
FROM bpc_claim(
  %(limit)s, %(ahead)s, %(claim_bytes)s, %(inline_bytes)s, %(passed_over)s::uuid[],
  %(owner)s, %(lease_seconds)s, %(nonce)s, %(now)s::timestamptz,
  %(scan)s, %(at_queues)s::text[], %(at_types)s::text[], %(at_priorities)s::smallint[], %(since)s::timestamptz[],
  %(since_ids)s::uuid[], %(types)s::text[], %(pot)s::integer[], %(pots)s::integer[],
  %(oldest)s, %(share)s, %(ring_at)s::uuid, %(unserved)s, %(hops)s) AS claim
