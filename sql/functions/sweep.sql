-- Looks at the next `page` rows of the tenant, in the order of their ids, and removes those that may go. `last_id` is
-- where the next page begins; it does not matter if somebody begins elsewhere.
CREATE OR REPLACE FUNCTION bpc_sweep(step text, kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  since timestamptz;
  seen uuid[];
  build_ids uuid[] := '{}';
  version_ids uuid[] := '{}';
  other_ids uuid[] := '{}';
BEGIN
  IF page NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'a page has 1 to 10000 rows, not %', page USING ERRCODE = 'invalid_parameter_value';
  ELSIF step = 'documents' THEN
    SELECT * INTO cut_off, removed, last_id, at_the_end FROM bpc_sweep_documents(kept_days, after, page);
    PERFORM bpc_tell_swept(step, kept_days, removed);
    RETURN NEXT;
    RETURN;
  ELSIF step = 'blobs' THEN
    RETURN QUERY SELECT * FROM bpc_sweep_blobs(kept_days, after, page);
    RETURN;
  END IF;

  since := bpc_retention_cut_off(CASE WHEN step IN ('deliveries', 'passports') THEN step ELSE 'drafts' END, kept_days);
  PERFORM set_config('bpc.retention', 'on', true);
  CASE step
    -- Builds that came to nothing: not DONE, and no job is left that could go on with them.
    WHEN 'builds' THEN
      seen := ARRAY(SELECT b.build_id FROM passport_builds AS b
                    WHERE b.tenant_id = bpc_tenant() AND b.build_id > after ORDER BY b.build_id LIMIT page);
      build_ids := ARRAY(SELECT b.build_id FROM passport_builds AS b
                         WHERE b.build_id = ANY (seen) AND b.state <> 'DONE' AND b.created_at < since
                         FOR UPDATE SKIP LOCKED);
      build_ids := ARRAY(
        SELECT unnest(build_ids)
        EXCEPT
        SELECT j.correlation_id::uuid FROM jobs AS j
        WHERE j.tenant_id = bpc_tenant() AND j.status IN ('QUEUED', 'RUNNING', 'DEAD_LETTER')
          AND j.correlation_id = ANY (build_ids::text[]));
      removed := jsonb_build_object('builds', cardinality(build_ids));

    -- Snapshots that were never sealed, and that no build waits for.
    WHEN 'snapshots' THEN
      seen := ARRAY(SELECT s.snapshot_id FROM data_snapshots AS s
                    WHERE s.tenant_id = bpc_tenant() AND s.snapshot_id > after ORDER BY s.snapshot_id LIMIT page);
      other_ids := ARRAY(
        SELECT s.snapshot_id FROM data_snapshots AS s
        WHERE s.snapshot_id = ANY (seen) AND s.status <> 'SEALED' AND s.created_at < since
          AND NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.snapshot_id = s.snapshot_id)
        FOR UPDATE SKIP LOCKED);
      DELETE FROM snapshot_items AS i WHERE i.snapshot_id = ANY (other_ids);
      DELETE FROM data_snapshots AS s WHERE s.snapshot_id = ANY (other_ids);
      removed := jsonb_build_object('snapshots', cardinality(other_ids));

    -- Deliveries that have ended. Their events stay.
    WHEN 'deliveries' THEN
      seen := ARRAY(SELECT d.webhook_delivery_id FROM webhook_deliveries AS d
                    WHERE d.tenant_id = bpc_tenant() AND d.webhook_delivery_id > after
                    ORDER BY d.webhook_delivery_id LIMIT page);
      other_ids := ARRAY(
        SELECT d.webhook_delivery_id FROM webhook_deliveries AS d
        WHERE d.webhook_delivery_id = ANY (seen) AND d.status <> 'PENDING'
          AND greatest(d.created_at, d.delivered_at) < since
        FOR UPDATE SKIP LOCKED);
      DELETE FROM webhook_deliveries AS d WHERE d.webhook_delivery_id = ANY (other_ids);
      removed := jsonb_build_object('deliveries', cardinality(other_ids));

    -- Versions that were never signed, and that no build and no job waits for; or that are SUPERSEDED or REVOKED, and
    -- that nothing has happened to since, with the builds that led to them.
    WHEN 'unsigned', 'passports' THEN
      seen := ARRAY(SELECT v.passport_version_id FROM passport_versions AS v
                    WHERE v.tenant_id = bpc_tenant() AND v.passport_version_id > after
                    ORDER BY v.passport_version_id LIMIT page);
      version_ids := ARRAY(
        SELECT v.passport_version_id FROM passport_versions AS v
        WHERE v.passport_version_id = ANY (seen) AND v.created_at < since
          AND CASE step
            WHEN 'unsigned' THEN v.status = 'COMPILING'
              AND NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.passport_version_id = v.passport_version_id)
              AND NOT EXISTS (SELECT FROM jobs AS j
                              WHERE j.tenant_id = v.tenant_id AND j.type = 'SIGN_PASSPORT'
                                AND j.idempotency_key = v.passport_version_id::text
                                AND j.status IN ('QUEUED', 'RUNNING', 'DEAD_LETTER'))
            ELSE v.status IN ('SUPERSEDED', 'REVOKED')
              AND NOT EXISTS (
                SELECT FROM events AS e
                WHERE e.tenant_id = v.tenant_id AND e.aggregate_type = 'passport' AND e.aggregate_id = v.passport_id
                  AND e.occurred_at >= since AND e.payload ->> 'passport_version_id' = v.passport_version_id::text)
            END
        FOR UPDATE SKIP LOCKED);
      build_ids := ARRAY(SELECT b.build_id FROM passport_builds AS b
                         WHERE step = 'passports' AND b.tenant_id = bpc_tenant()
                           AND b.passport_version_id = ANY (version_ids));
      removed := CASE step
        WHEN 'unsigned' THEN jsonb_build_object('unsigned_versions', cardinality(version_ids))
        ELSE jsonb_build_object('passport_versions', cardinality(version_ids), 'builds', cardinality(build_ids)) END;
  END CASE;
  DELETE FROM passport_build_documents AS d WHERE d.build_id = ANY (build_ids);
  DELETE FROM passport_builds AS b WHERE b.build_id = ANY (build_ids);
  DELETE FROM passport_versions AS v WHERE v.passport_version_id = ANY (version_ids);
  PERFORM set_config('bpc.retention', '', true);
  PERFORM bpc_tell_swept(step, kept_days, removed);
  cut_off := since;
  last_id := seen[cardinality(seen)];
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_sweep FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_sweep TO bpc_worker;
