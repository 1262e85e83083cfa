-- A version's place says what its status is, whoever changed that, and the list is signed anew: by one job for all changes
-- of some seconds, where the tenant has a key for it. The lock is shared by those who change a list: who reads it waits
-- until they have committed, so the job of these seconds, which runs after them, tells of all.
CREATE OR REPLACE FUNCTION bpc_tell_status() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  changed_list integer;
  due timestamptz;
BEGIN
  UPDATE status_places AS p
  SET status = CASE NEW.status WHEN 'ACTIVE' THEN 0 WHEN 'REVOKED' THEN 1 WHEN 'SUPERSEDED' THEN 3 ELSE 2 END
  WHERE p.tenant_id = NEW.tenant_id AND p.passport_version_id = NEW.passport_version_id
  RETURNING p.status_list INTO changed_list;
  IF NEW.status NOT IN ('ACTIVE', 'REVOKED', 'SUPERSEDED') OR changed_list IS NULL OR NOT EXISTS (
    SELECT FROM signing_keys AS k
    WHERE k.tenant_id = NEW.tenant_id AND 'status' = ANY (k.purposes) AND k.status = 'ACTIVE') THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock_shared(bpc_status_lock(changed_list));
  due := date_bin('5 seconds', clock_timestamp(), '2000-01-01Z') + interval '5 seconds';
  INSERT INTO jobs (tenant_id, type, payload, scheduled_at, idempotency_key, parent_job_id, correlation_id, traceparent)
  VALUES (NEW.tenant_id, 'SIGN_STATUS_LIST', jsonb_build_object('list', changed_list), due,
          concat_ws(' ', changed_list, 'at', to_char(due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
          NULLIF(current_setting('bpc.job_id', true), '')::uuid,
          NULLIF(current_setting('bpc.correlation_id', true), ''),
          NULLIF(current_setting('bpc.traceparent', true), ''))
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION bpc_status_lock(list integer) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN hashtextextended('status list ' || list, 0);

-- What a list of the tenant has to tell, and of which moment: the places of each status, four bytes each, but for those
-- that are signed and not in force. No row: there is no such list.
CREATE OR REPLACE FUNCTION bpc_status_words(of_list integer)
RETURNS TABLE (issuer text, as_of timestamptz, active bytea, revoked bytea, superseded bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(bpc_status_lock(of_list));
  RETURN QUERY  -- with a snapshot that is younger than the lock
    SELECT l.issuer, clock_timestamp(), told.active, told.revoked, told.superseded
    FROM status_lists AS l, LATERAL (
      SELECT coalesce(string_agg(int4send(p.status_idx), '') FILTER (WHERE p.status = 0), '') AS active,
             coalesce(string_agg(int4send(p.status_idx), '') FILTER (WHERE p.status = 1), '') AS revoked,
             coalesce(string_agg(int4send(p.status_idx), '') FILTER (WHERE p.status = 3), '') AS superseded
      FROM status_places AS p WHERE p.status_list = l.status_list) AS told
    WHERE l.tenant_id = bpc_tenant() AND l.status_list = of_list;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_tell_status, bpc_status_lock, bpc_status_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_status_words TO bpc_worker;
