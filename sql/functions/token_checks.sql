-- What whoever brings a token may do. Of one that is no longer in force only that is told, so that nothing can be done by
-- it by mistake; of one that never was there is no row. Its use is noted once a minute, and by one of many at a time.
CREATE OR REPLACE FUNCTION bpc_find_token(hash bytea)
RETURNS TABLE (state text, token_id uuid, tenant_id uuid, name text, scopes text[], audience text, expires_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  found api_tokens;
BEGIN
  SELECT * INTO found FROM api_tokens AS t WHERE t.token_hash = hash;
  IF found.token_id IS NULL THEN
    RETURN;
  ELSIF found.revoked_at IS NOT NULL OR found.expires_at <= clock_timestamp() THEN
    RETURN QUERY SELECT CASE WHEN found.revoked_at IS NOT NULL THEN 'REVOKED' ELSE 'EXPIRED' END,
                        NULL::uuid, NULL::uuid, NULL::text, NULL::text[], NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  IF current_setting('transaction_read_only') = 'off' THEN
    UPDATE token_uses AS u SET last_used_at = clock_timestamp()
    WHERE u.token_id = (SELECT s.token_id FROM token_uses AS s
                        WHERE s.token_id = found.token_id
                          AND (s.last_used_at > clock_timestamp() - interval '1 minute') IS NOT TRUE
                        FOR NO KEY UPDATE SKIP LOCKED);
  END IF;
  RETURN QUERY SELECT 'VALID'::text, found.token_id, found.tenant_id, found.name, found.scopes, found.audience,
                      found.expires_at;
END
$$;

-- A browser's session stands on a token, and ends with it at the latest: where it is found, the token is asked. When it
-- ends; NULL: the token is not in force.
CREATE OR REPLACE FUNCTION bpc_begin_session(of_token bytea, session bytea, seconds integer) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  held record;
  ends timestamptz;
BEGIN
  SELECT token_id, expires_at INTO held FROM api_tokens
  WHERE token_hash = of_token AND revoked_at IS NULL AND expires_at > clock_timestamp();
  IF held.token_id IS NULL THEN
    RETURN NULL;
  END IF;
  DELETE FROM web_sessions WHERE session_hash IN (
    SELECT session_hash FROM web_sessions WHERE expires_at <= clock_timestamp() LIMIT 1000 FOR UPDATE SKIP LOCKED);
  -- Whoever begins one after the other ends his own, the oldest first.
  DELETE FROM web_sessions WHERE session_hash IN (
    SELECT session_hash FROM web_sessions WHERE token_id = held.token_id
    ORDER BY created_at DESC, session_hash OFFSET 999 FOR UPDATE SKIP LOCKED);
  ends := least(held.expires_at, clock_timestamp() + make_interval(secs => seconds));
  INSERT INTO web_sessions (session_hash, token_id, expires_at) VALUES (session, held.token_id, ends);
  RETURN ends;
END
$$;

-- The same as of a token; `expires_at` is the session's.
CREATE OR REPLACE FUNCTION bpc_find_session(session bytea)
RETURNS TABLE (state text, token_id uuid, tenant_id uuid, name text, scopes text[], audience text, expires_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  held record;
BEGIN
  SELECT t.token_hash, s.expires_at INTO held
  FROM web_sessions AS s JOIN api_tokens AS t ON t.token_id = s.token_id WHERE s.session_hash = session;
  IF held.token_hash IS NULL THEN
    RETURN;
  ELSIF held.expires_at <= clock_timestamp() THEN
    RETURN QUERY SELECT 'EXPIRED'::text, NULL::uuid, NULL::uuid, NULL::text, NULL::text[], NULL::text, NULL::timestamptz;
    RETURN;
  END IF;
  RETURN QUERY SELECT f.state, f.token_id, f.tenant_id, f.name, f.scopes, f.audience,
                      CASE WHEN f.state = 'VALID' THEN held.expires_at END
               FROM bpc_find_token(held.token_hash) AS f;
END
$$;

-- Whether there was one.
CREATE OR REPLACE FUNCTION bpc_end_session(session bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  DELETE FROM web_sessions WHERE session_hash = session;
  RETURN FOUND;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_find_token, bpc_begin_session, bpc_find_session, bpc_end_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_find_token, bpc_begin_session, bpc_find_session, bpc_end_session TO bpc_web;
