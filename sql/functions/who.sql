-- The name of the login, whatever role it has taken on. It ends where a '/' stands: one that has a '/' is quoted.
CREATE OR REPLACE FUNCTION bpc_login() RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN session_user ~ '["/]' THEN '"' || replace(session_user, '"', '""') || '"' ELSE session_user::text END;

-- What the eye does not see in a name, or takes for something else, as a regular expression.
CREATE OR REPLACE FUNCTION bpc_unseen() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN '[\u0001-\u001f\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]';

-- Who acts: the login, and for whom. That it says itself (bpc.actor), and only a web server's login is believed; of others
-- it is not heard. What cannot be told apart by eye is refused, as it is to be read for years.
CREATE OR REPLACE FUNCTION bpc_who() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  actor text := NULLIF(current_setting('bpc.actor', true), '');
BEGIN
  IF actor IS NULL OR NOT pg_has_role(session_user, 'bpc_web', 'MEMBER') THEN
    RETURN bpc_login();
  END IF;
  IF length(actor) > 100 OR actor <> btrim(actor) OR actor ~ bpc_unseen() THEN
    RAISE EXCEPTION 'bpc.actor is no name: 1 to 100 visible characters'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN bpc_login() || '/' || actor;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_login, bpc_unseen, bpc_who FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_login, bpc_unseen, bpc_who TO bpc_worker, bpc_operator, bpc_reader, bpc_app, bpc_web;
