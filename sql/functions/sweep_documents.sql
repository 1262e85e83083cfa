-- The step of bpc_sweep for documents with their content that have been judged, that no build and no battery has, and none
-- of whose facts is in a snapshot; with those of their facts that stand nowhere else. A document goes as a whole. Whoever reads one
-- meanwhile, to send it again or to take its facts, waits for the end of the page: the locks are taken in the order in
-- which they do it.
CREATE OR REPLACE FUNCTION bpc_sweep_documents(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  most_facts CONSTANT integer := 20000;  -- of a page, so that it is short; one document may have more
  seen uuid[];
  old_ids uuid[];
  fact_ids uuid[];
  gone_facts integer;
BEGIN
  cut_off := bpc_retention_cut_off('documents', kept_days);
  LOCK TABLE facts, document_versions, data_snapshots IN SHARE ROW EXCLUSIVE MODE;
  seen := ARRAY(SELECT v.document_version_id FROM document_versions AS v
                WHERE v.tenant_id = bpc_tenant() AND v.document_version_id > after
                ORDER BY v.document_version_id LIMIT page);
  WITH free AS MATERIALIZED (
    SELECT v.document_version_id AS id,
           (SELECT count(*) FROM fact_sources AS s WHERE s.document_version_id = v.document_version_id) AS facts
    FROM document_versions AS v
    WHERE v.document_version_id = ANY (seen) AND v.status <> 'UPLOADED' AND v.created_at < cut_off
      AND NOT EXISTS (SELECT FROM passport_build_documents AS d WHERE d.document_version_id = v.document_version_id)
      AND NOT EXISTS (SELECT FROM passport_documents AS t WHERE t.document_version_id = v.document_version_id)
      AND NOT EXISTS (SELECT FROM fact_sources AS s JOIN snapshot_items AS i ON i.fact_id = s.fact_id
                      WHERE s.document_version_id = v.document_version_id)
  ),
  summed AS (
    SELECT id, sum(facts) OVER (ORDER BY id) AS so_far, row_number() OVER (ORDER BY id) AS place FROM free
  )
  SELECT coalesce(array_agg(id ORDER BY id) FILTER (WHERE so_far <= most_facts OR place = 1), '{}'),
         min(id::text) FILTER (WHERE so_far > most_facts AND place > 1)
  INTO old_ids, last_id
  FROM summed;
  at_the_end := last_id IS NULL AND cardinality(seen) < page;
  -- The page ends before the first document that was too much for it.
  last_id := CASE WHEN last_id IS NULL THEN seen[cardinality(seen)] ELSE old_ids[cardinality(old_ids)] END;

  PERFORM set_config('bpc.retention', 'on', true);
  WITH gone AS (
    DELETE FROM fact_sources AS s WHERE s.document_version_id = ANY (old_ids) RETURNING s.fact_id
  )
  SELECT coalesce(array_agg(DISTINCT gone.fact_id), '{}') INTO fact_ids FROM gone;
  DELETE FROM facts AS f
  WHERE f.fact_id = ANY (fact_ids)
    AND NOT EXISTS (SELECT FROM fact_sources AS s WHERE s.fact_id = f.fact_id)
    AND NOT EXISTS (SELECT FROM snapshot_items AS i WHERE i.fact_id = f.fact_id);
  GET DIAGNOSTICS gone_facts = ROW_COUNT;
  DELETE FROM document_versions AS v WHERE v.document_version_id = ANY (old_ids);
  PERFORM set_config('bpc.retention', '', true);
  removed := jsonb_build_object('documents', cardinality(old_ids), 'facts', gone_facts);
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_sweep_documents FROM PUBLIC;
