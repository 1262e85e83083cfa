-- Nobody hands out by a token what his own role may not do: one for all tenants needs the roles that its scopes act by.
-- And no web server's login hands out any: a fault in a door makes no key to it.
CREATE OR REPLACE FUNCTION bpc_check_may_give(of_tenant uuid, scopes text[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  acts_as name := coalesce(NULLIF(current_setting('role'), 'none'), session_user);
  lacking text;
BEGIN
  IF pg_has_role(session_user, 'bpc_web', 'MEMBER') AND NOT pg_has_role(session_user, 'bpc_owner', 'MEMBER') THEN
    RAISE EXCEPTION 'a login of bpc_web makes no tokens' USING ERRCODE = 'insufficient_privilege';
  ELSIF of_tenant IS NULL THEN
    SELECT needed INTO lacking
    FROM unnest(scopes) AS scope,
         LATERAL (SELECT CASE WHEN scope IN ('read', 'values') THEN 'bpc_reader'
                              WHEN scope IN ('write', 'activate', 'webhooks') THEN 'bpc_app' ELSE 'bpc_operator' END
                 ) AS role (needed)
    WHERE NOT pg_has_role(acts_as, needed, 'USAGE') AND NOT pg_has_role(acts_as, 'bpc_owner', 'USAGE') LIMIT 1;
    IF lacking IS NOT NULL OR NOT bpc_acts_for_all() THEN
      RAISE EXCEPTION 'for all tenants a token of these scopes is made by a member of %', coalesce(lacking, 'bpc_operator')
        USING ERRCODE = 'insufficient_privilege', HINT = 'Name a tenant, or GRANT that role TO the login.';
    END IF;
  ELSIF of_tenant IS DISTINCT FROM bpc_tenant() THEN
    RAISE EXCEPTION 'a token is for the tenant that the transaction has named, or for all'
      USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION bpc_create_token(
  of_tenant uuid, named text, hash bytea, of_scopes text[], of_audience text, until timestamptz
) RETURNS TABLE (token_id uuid, expires_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  PERFORM bpc_check_may_give(of_tenant, of_scopes);
  PERFORM pg_advisory_xact_lock(hashtextextended('token ' || named, 0));
  -- One for all tenants acts where one of a tenant does.
  IF EXISTS (SELECT FROM api_tokens AS t WHERE t.name = named AND t.revoked_at IS NULL
             AND (of_tenant IS NULL OR t.tenant_id IS NULL OR t.tenant_id = of_tenant)) THEN
    RAISE EXCEPTION 'there is a token named %', named USING ERRCODE = 'unique_violation', HINT = 'Revoke it first.';
  END IF;
  RETURN QUERY INSERT INTO api_tokens (tenant_id, name, token_hash, scopes, audience, expires_at)
    VALUES (of_tenant, named, hash, of_scopes, of_audience, until) RETURNING api_tokens.token_id, api_tokens.expires_at;
END
$$;

-- Whether it was in force. An operator revokes any, an owner those of its tenant. Whoever remembers tokens hears of it. It
-- waits for nobody who uses the token: sessions that somebody holds go later, and are good for nothing meanwhile.
CREATE OR REPLACE FUNCTION bpc_revoke_token(wanted uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  was timestamptz;
BEGIN
  SELECT revoked_at INTO was FROM api_tokens
  WHERE token_id = wanted AND (tenant_id = bpc_tenant() OR bpc_acts_for_all()) FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no token %', wanted USING ERRCODE = 'no_data_found';
  ELSIF was IS NOT NULL THEN
    RETURN false;
  END IF;
  UPDATE api_tokens SET revoked_at = clock_timestamp() WHERE token_id = wanted;
  DELETE FROM web_sessions WHERE session_hash IN (
    SELECT s.session_hash FROM web_sessions AS s WHERE s.token_id = wanted FOR UPDATE SKIP LOCKED);
  PERFORM pg_notify('bpc_tokens', wanted::text);
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION bpc_note_token() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  INSERT INTO token_events (token_id, action) VALUES (NEW.token_id, TG_ARGV[0]);
  IF TG_OP = 'INSERT' THEN
    INSERT INTO token_uses (token_id) VALUES (NEW.token_id);
  END IF;
  RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_check_may_give, bpc_create_token, bpc_revoke_token, bpc_note_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_create_token, bpc_revoke_token TO bpc_app, bpc_operator;
