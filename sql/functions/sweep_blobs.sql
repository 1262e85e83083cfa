-- The step of bpc_sweep for bytes that no document has and that no job asks for which may still run, as long as documents
-- are kept after they were last brought. Pages go by the first half of the hash, which is as large as an id.
CREATE OR REPLACE FUNCTION bpc_sweep_blobs(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  seen bytea[];
  old_hashes bytea[];
BEGIN
  cut_off := bpc_retention_cut_off('documents', kept_days);
  seen := ARRAY(SELECT b.sha256 FROM blobs AS b
                WHERE b.tenant_id = bpc_tenant() AND b.sha256 > uuid_send(after) || decode(repeat('ff', 16), 'hex')
                ORDER BY b.sha256 LIMIT page);
  old_hashes := ARRAY(
    SELECT b.sha256 FROM blobs AS b
    WHERE b.tenant_id = bpc_tenant() AND b.sha256 = ANY (seen) AND b.put_at < cut_off
      AND NOT EXISTS (SELECT FROM document_versions AS v WHERE v.tenant_id = b.tenant_id AND v.sha256 = b.sha256)
    FOR UPDATE SKIP LOCKED);
  IF cardinality(old_hashes) > 0 THEN
    old_hashes := ARRAY(
      SELECT unnest(old_hashes)
      EXCEPT
      SELECT decode(j.payload ->> 'content_sha256', 'hex') FROM jobs AS j
      WHERE j.tenant_id = bpc_tenant() AND j.status IN ('QUEUED', 'RUNNING', 'DEAD_LETTER')
        AND j.payload ->> 'content_sha256' = ANY (SELECT encode(h, 'hex') FROM unnest(old_hashes) AS h));
  END IF;
  PERFORM set_config('bpc.retention', 'on', true);
  DELETE FROM blobs AS b WHERE b.tenant_id = bpc_tenant() AND b.sha256 = ANY (old_hashes);
  PERFORM set_config('bpc.retention', '', true);
  removed := jsonb_build_object('blobs', cardinality(old_hashes));
  last_id := encode(substr(seen[cardinality(seen)], 1, 16), 'hex')::uuid;
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_sweep_blobs FROM PUBLIC;
