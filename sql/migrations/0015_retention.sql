-- What is past its retention is removed, by functions of the owner with rules of their own; nothing else can delete.
-- Former release: keeps working.

-- Whether a function below is at work. It opens nothing by itself: no role but the owner's has DELETE on any of these.
CREATE FUNCTION bpc_in_retention() RETURNS boolean
LANGUAGE sql STABLE
AS $$ SELECT coalesce(current_setting('bpc.retention', true), '') = 'on' $$;

-- What has a deletion by retention ahead of it keeps its guard against all others.
DROP TRIGGER facts_stay ON facts;
CREATE TRIGGER facts_stay BEFORE UPDATE ON facts
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('facts never change');
CREATE TRIGGER facts_leave_by_retention BEFORE DELETE ON facts
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes facts');

DROP TRIGGER fact_sources_stay ON fact_sources;
CREATE TRIGGER fact_sources_stay BEFORE UPDATE ON fact_sources
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('where a fact was found never changes');
CREATE TRIGGER fact_sources_leave_by_retention BEFORE DELETE ON fact_sources
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes facts');

CREATE TRIGGER document_versions_leave_by_retention BEFORE DELETE ON document_versions
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes documents');

-- What is in a sealed snapshot stays, in retention too: passports are made again from it.
CREATE FUNCTION bpc_guard_snapshot_item() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  IF NOT bpc_in_retention()
     OR EXISTS (SELECT FROM data_snapshots AS s WHERE s.snapshot_id = OLD.snapshot_id AND s.status = 'SEALED') THEN
    RAISE EXCEPTION 'snapshot_items: DELETE is refused: make another snapshot' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_guard_snapshot_item FROM PUBLIC;
DROP TRIGGER snapshot_items_stay ON snapshot_items;
CREATE TRIGGER snapshot_items_stay BEFORE UPDATE ON snapshot_items
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('make another snapshot');
CREATE TRIGGER snapshot_items_leave_by_retention BEFORE DELETE ON snapshot_items
FOR EACH ROW EXECUTE FUNCTION bpc_guard_snapshot_item();

-- A passport that is signed or in force stays, whoever wants it gone.
DROP TRIGGER passport_versions_stay ON passport_versions;
CREATE TRIGGER passport_versions_stay BEFORE DELETE ON passport_versions
FOR EACH ROW WHEN (OLD.status IN ('SIGNED', 'ACTIVE'))
EXECUTE FUNCTION bpc_refuse_change('a passport that is signed or in force is never removed');
CREATE TRIGGER passport_versions_leave_by_retention BEFORE DELETE ON passport_versions
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes passports');

DROP TRIGGER webhook_deliveries_delivered_stay ON webhook_deliveries;
CREATE TRIGGER webhook_deliveries_delivered_stay BEFORE UPDATE ON webhook_deliveries
FOR EACH ROW WHEN (OLD.status = 'DELIVERED') EXECUTE FUNCTION bpc_refuse_change('it was delivered');
CREATE TRIGGER webhook_deliveries_leave_by_retention BEFORE DELETE ON webhook_deliveries
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes deliveries');

-- From when on everything of that kind is kept. Nobody can ask for less than this, by no setting.
CREATE FUNCTION bpc_retention_cut_off(kind text, kept_days integer) RETURNS timestamptz
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  least integer := CASE kind WHEN 'passports' THEN 3650 ELSE 30 END;
BEGIN
  IF bpc_tenant() IS NULL THEN
    RAISE EXCEPTION 'retention works for one tenant: set bpc.tenant_id' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF kept_days IS NULL OR kept_days < least THEN
    RAISE EXCEPTION 'retention: % are kept for % days at least, not for %', kind, least, kept_days
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN now() - make_interval(days => kept_days);
END
$$;

-- Each of the following looks at the next `page` rows of the tenant, in the order of their ids, and removes those that
-- may go. `last_id` is where the next page begins; it does not matter if somebody begins elsewhere.

-- Builds that came to nothing: not DONE, and no job is left that could go on with them.
CREATE FUNCTION bpc_sweep_builds(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  seen uuid[];
  old_ids uuid[];
BEGIN
  cut_off := bpc_retention_cut_off('drafts', kept_days);
  seen := ARRAY(SELECT b.build_id FROM passport_builds AS b
                WHERE b.tenant_id = bpc_tenant() AND b.build_id > after ORDER BY b.build_id LIMIT page);
  old_ids := ARRAY(SELECT b.build_id FROM passport_builds AS b
                   WHERE b.build_id = ANY (seen) AND b.state <> 'DONE' AND b.created_at < cut_off
                   FOR UPDATE SKIP LOCKED);
  old_ids := ARRAY(
    SELECT unnest(old_ids)
    EXCEPT
    SELECT j.correlation_id::uuid FROM jobs AS j
    WHERE j.tenant_id = bpc_tenant() AND j.status IN ('QUEUED', 'RUNNING', 'DEAD_LETTER')
      AND j.correlation_id = ANY (old_ids::text[]));
  DELETE FROM passport_build_documents AS d WHERE d.build_id = ANY (old_ids);
  DELETE FROM passport_builds AS b WHERE b.build_id = ANY (old_ids);
  removed := jsonb_build_object('builds', cardinality(old_ids));
  last_id := seen[cardinality(seen)];
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

-- Versions that were never signed, and that no build and no job waits for.
CREATE FUNCTION bpc_sweep_unsigned(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  seen uuid[];
  old_ids uuid[];
BEGIN
  cut_off := bpc_retention_cut_off('drafts', kept_days);
  seen := ARRAY(SELECT v.passport_version_id FROM passport_versions AS v
                WHERE v.tenant_id = bpc_tenant() AND v.passport_version_id > after
                ORDER BY v.passport_version_id LIMIT page);
  old_ids := ARRAY(
    SELECT v.passport_version_id FROM passport_versions AS v
    WHERE v.passport_version_id = ANY (seen) AND v.status = 'COMPILING' AND v.created_at < cut_off
      AND NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.passport_version_id = v.passport_version_id)
      AND NOT EXISTS (SELECT FROM jobs AS j
                      WHERE j.tenant_id = v.tenant_id AND j.type = 'SIGN_PASSPORT'
                        AND j.idempotency_key = v.passport_version_id::text
                        AND j.status IN ('QUEUED', 'RUNNING', 'DEAD_LETTER'))
    FOR UPDATE SKIP LOCKED);
  PERFORM set_config('bpc.retention', 'on', true);
  DELETE FROM passport_versions AS v WHERE v.passport_version_id = ANY (old_ids);
  PERFORM set_config('bpc.retention', '', true);
  removed := jsonb_build_object('unsigned_versions', cardinality(old_ids));
  last_id := seen[cardinality(seen)];
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

-- Snapshots that were never sealed, and that no build waits for.
CREATE FUNCTION bpc_sweep_snapshots(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  seen uuid[];
  old_ids uuid[];
BEGIN
  cut_off := bpc_retention_cut_off('drafts', kept_days);
  seen := ARRAY(SELECT s.snapshot_id FROM data_snapshots AS s
                WHERE s.tenant_id = bpc_tenant() AND s.snapshot_id > after ORDER BY s.snapshot_id LIMIT page);
  old_ids := ARRAY(
    SELECT s.snapshot_id FROM data_snapshots AS s
    WHERE s.snapshot_id = ANY (seen) AND s.status <> 'SEALED' AND s.created_at < cut_off
      AND NOT EXISTS (SELECT FROM passport_builds AS b WHERE b.snapshot_id = s.snapshot_id)
    FOR UPDATE SKIP LOCKED);
  PERFORM set_config('bpc.retention', 'on', true);
  DELETE FROM snapshot_items AS i WHERE i.snapshot_id = ANY (old_ids);
  DELETE FROM data_snapshots AS s WHERE s.snapshot_id = ANY (old_ids);
  PERFORM set_config('bpc.retention', '', true);
  removed := jsonb_build_object('snapshots', cardinality(old_ids));
  last_id := seen[cardinality(seen)];
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

-- Documents with their content that have been judged, that no build names, and none of whose facts is in a snapshot;
-- with those of their facts that stand nowhere else. A document goes as a whole. Whoever reads one meanwhile, to send it
-- again or to take its facts, waits for the end of the page: the locks are taken in the order in which they do it.
CREATE FUNCTION bpc_sweep_documents(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

-- Deliveries that have ended. Their events stay.
CREATE FUNCTION bpc_sweep_deliveries(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  seen uuid[];
  old_ids uuid[];
BEGIN
  cut_off := bpc_retention_cut_off('deliveries', kept_days);
  seen := ARRAY(SELECT d.webhook_delivery_id FROM webhook_deliveries AS d
                WHERE d.tenant_id = bpc_tenant() AND d.webhook_delivery_id > after
                ORDER BY d.webhook_delivery_id LIMIT page);
  old_ids := ARRAY(
    SELECT d.webhook_delivery_id FROM webhook_deliveries AS d
    WHERE d.webhook_delivery_id = ANY (seen) AND d.status <> 'PENDING'
      AND greatest(d.created_at, d.delivered_at) < cut_off
    FOR UPDATE SKIP LOCKED);
  PERFORM set_config('bpc.retention', 'on', true);
  DELETE FROM webhook_deliveries AS d WHERE d.webhook_delivery_id = ANY (old_ids);
  PERFORM set_config('bpc.retention', '', true);
  removed := jsonb_build_object('deliveries', cardinality(old_ids));
  last_id := seen[cardinality(seen)];
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

-- Versions that are SUPERSEDED or REVOKED, and that nothing has happened to since; with the builds that led to them.
CREATE FUNCTION bpc_sweep_passports(kept_days integer, after uuid, page integer)
RETURNS TABLE (cut_off timestamptz, removed jsonb, last_id uuid, at_the_end boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  since timestamptz := bpc_retention_cut_off('passports', kept_days);
  seen uuid[];
  old_ids uuid[];
  build_ids uuid[];
BEGIN
  cut_off := since;
  seen := ARRAY(SELECT v.passport_version_id FROM passport_versions AS v
                WHERE v.tenant_id = bpc_tenant() AND v.passport_version_id > after
                ORDER BY v.passport_version_id LIMIT page);
  old_ids := ARRAY(
    SELECT v.passport_version_id FROM passport_versions AS v
    WHERE v.passport_version_id = ANY (seen) AND v.status IN ('SUPERSEDED', 'REVOKED') AND v.created_at < since
      AND NOT EXISTS (
        SELECT FROM events AS e
        WHERE e.tenant_id = v.tenant_id AND e.aggregate_type = 'passport' AND e.aggregate_id = v.passport_id
          AND e.occurred_at >= since AND e.payload ->> 'passport_version_id' = v.passport_version_id::text)
    FOR UPDATE SKIP LOCKED);
  build_ids := ARRAY(SELECT b.build_id FROM passport_builds AS b
                     WHERE b.tenant_id = bpc_tenant() AND b.passport_version_id = ANY (old_ids));
  PERFORM set_config('bpc.retention', 'on', true);
  DELETE FROM passport_build_documents AS d WHERE d.build_id = ANY (build_ids);
  DELETE FROM passport_builds AS b WHERE b.build_id = ANY (build_ids);
  DELETE FROM passport_versions AS v WHERE v.passport_version_id = ANY (old_ids);
  PERFORM set_config('bpc.retention', '', true);
  removed := jsonb_build_object('passport_versions', cardinality(old_ids), 'builds', cardinality(build_ids));
  last_id := seen[cardinality(seen)];
  at_the_end := cardinality(seen) < page;
  RETURN NEXT;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_sweep_builds, bpc_sweep_unsigned, bpc_sweep_snapshots, bpc_sweep_documents,
  bpc_sweep_deliveries, bpc_sweep_passports FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_sweep_builds, bpc_sweep_unsigned, bpc_sweep_snapshots, bpc_sweep_documents,
  bpc_sweep_deliveries, bpc_sweep_passports TO bpc_worker;

-- What the sweep looks for, which no statement asked for before.
CREATE INDEX passport_builds_version ON passport_builds (passport_version_id);
