-- Bulk acts: asked for by a person, carried out page by page by any server, stopped by a person.

-- Whoever acts for one tenant asks for its dead letters alone, whatever he names; others for one tenant's or all. A server
-- that carries it out names him in the events: for whom a web server's login asked, or the login that asked by itself. What
-- another login calls itself is not heard, here as elsewhere.
CREATE OR REPLACE FUNCTION bpc_ask_bulk(
  wanted_act text, of_tenant uuid, of_status text, of_type text, with_code text, with_fingerprint text,
  died_since timestamptz, died_before timestamptz, expected integer
) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  made uuid;
  who text := bpc_who();
BEGIN
  IF NOT bpc_acts_for_all() THEN
    IF bpc_tenant() IS NULL OR of_tenant IS DISTINCT FROM bpc_tenant() THEN
      RAISE EXCEPTION 'only an operator acts on more than the tenant that the transaction has named'
        USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT bpc_operator TO the login.';
    END IF;
  END IF;
  INSERT INTO bulk_acts (act, tenant_id, job_status, type, code, fingerprint, died_since, died_before, counted, asked_by,
                         actor)
  VALUES (wanted_act, of_tenant, of_status, of_type, with_code, with_fingerprint, died_since,
          least(died_before, clock_timestamp()), expected, who,
          CASE WHEN who <> bpc_login() THEN substr(who, length(bpc_login()) + 2)
          ELSE btrim(left('login:' || regexp_replace(who, bpc_unseen(), '?', 'g'), 100)) END)
  RETURNING bulk_act_id INTO made;
  RETURN made;
END
$$;

-- One that runs and that nobody has, or whose holder has not been heard of; the oldest. No row: there is none.
CREATE OR REPLACE FUNCTION bpc_take_bulk(by_owner text, lease_seconds double precision)
RETURNS TABLE (bulk_act_id uuid, lease_token uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  UPDATE bulk_acts AS b
  SET lease_owner = by_owner, lease_token = gen_random_uuid(),
      lease_expires_at = clock_timestamp() + make_interval(secs => lease_seconds)
  WHERE b.bulk_act_id = (
    SELECT free.bulk_act_id FROM bulk_acts AS free
    WHERE free.status = 'RUNNING' AND (free.lease_expires_at IS NULL OR free.lease_expires_at < clock_timestamp())
    ORDER BY free.bulk_act_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED)
  RETURNING b.bulk_act_id, b.lease_token
$$;

-- Given back by a server that stops: the next one need not wait for the lease.
CREATE OR REPLACE FUNCTION bpc_leave_bulk(wanted uuid, token uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  UPDATE bulk_acts SET lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL
  WHERE bulk_act_id = wanted AND lease_token = token
$$;

-- Whether it ran until now. The page under way ends first.
CREATE OR REPLACE FUNCTION bpc_stop_bulk(wanted uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  UPDATE bulk_acts SET status = 'STOPPED', stopped_by = bpc_who(), finished_at = clock_timestamp()
  WHERE bulk_act_id = wanted AND status = 'RUNNING' AND (tenant_id = bpc_tenant() OR bpc_acts_for_all());
  RETURN FOUND;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_ask_bulk, bpc_take_bulk, bpc_leave_bulk, bpc_stop_bulk FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_ask_bulk, bpc_stop_bulk TO bpc_operator, bpc_app;
GRANT EXECUTE ON FUNCTION bpc_take_bulk, bpc_leave_bulk TO bpc_operator;
