-- Take up to `limit` due jobs: best priority first, oldest first within it. Each gets a new token, which every later
-- write about this claim must name, made from a nonce: a call whose answer was lost can be undone (forget_claim.sql).
-- A place is one (queue, type, priority), with the first row that is worth a look. A scan begins before the first place
-- of every queue and goes from one to the next by the index; without it, the places told are all. Candidates are read
-- without locking, a few more than wanted, then locked in their order; what others hold is passed over. Some types share
-- a pot, from which only so many are taken. By turns the first is another one: the next tenant's in the ring, or the
-- oldest whatever its priority. Suspects are not among them: claim_suspect.sql takes those.
-- How it is done stands in sql/functions/claim.sql. There is a row even when nothing was claimed.
SELECT 0 AS ended, claim.*
FROM bpc_claim(
  %(limit)s, %(ahead)s, %(claim_bytes)s, %(inline_bytes)s, %(passed_over)s::uuid[],
  %(owner)s, %(lease_seconds)s, %(nonce)s, %(now)s::timestamptz,
  %(scan)s, %(at_queues)s::text[], %(at_types)s::text[], %(at_priorities)s::smallint[], %(since)s::timestamptz[],
  %(since_ids)s::uuid[], %(types)s::text[], %(pot)s::integer[], %(pots)s::integer[],
  %(oldest)s, %(share)s, %(ring_at)s::uuid, %(unserved)s, %(hops)s) AS claim
