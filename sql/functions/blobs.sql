-- Keeps these bytes for the tenant that the transaction has named, and returns their hash, by which jobs and documents
-- refer to them. Whoever brings them again finds them there, and they count as brought today: from then on retention
-- leaves them alone for its days, and for as long as a job or a document names them. Nobody writes blobs otherwise.
CREATE OR REPLACE FUNCTION bpc_put_blob(content bytea) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  hash CONSTANT bytea := sha256(content);
BEGIN
  IF bpc_tenant() IS NULL THEN
    RAISE EXCEPTION 'a blob belongs to a tenant: name it with SELECT set_config(''bpc.tenant_id'', …, true) before'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF content IS NULL THEN
    RAISE EXCEPTION 'a blob has content: NULL was given' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  -- Under its lock, so that no sweep takes it before whoever refers to it has committed.
  UPDATE blobs AS b SET put_at = now() WHERE b.tenant_id = bpc_tenant() AND b.sha256 = hash;
  IF NOT FOUND THEN
    INSERT INTO blobs (tenant_id, sha256, size, content)
    VALUES (bpc_tenant(), hash, octet_length(content), content)
    ON CONFLICT ON CONSTRAINT blobs_pkey DO UPDATE SET put_at = now();
  END IF;
  RETURN hash;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_put_blob FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_put_blob TO bpc_producer, bpc_worker, bpc_app;
