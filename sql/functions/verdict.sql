-- What becomes of a job that ended so: what would be queued again is CANCELLED instead when that was asked for, and a dead
-- letter when no attempt is left. It has no search_path of its own, so that it becomes a part of the statement.
CREATE OR REPLACE FUNCTION bpc_verdict(ended text, cancel_requested_at timestamptz, attempts_left integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN ended NOT IN ('QUEUED', 'DEAD_LETTER') THEN ended
  WHEN cancel_requested_at IS NOT NULL THEN 'CANCELLED'
  WHEN ended = 'DEAD_LETTER' OR attempts_left <= 0 THEN 'DEAD_LETTER'
  ELSE 'QUEUED'
END;

REVOKE EXECUTE ON FUNCTION bpc_verdict FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_verdict TO bpc_worker;
