-- Numbers the next `page` events of the tenant that have no leaf yet, chain by chain, and returns how many there were:
-- call it, each time in a transaction of its own, until it returns less than a page. Within a chain the order of leaves
-- is that of its events, so a tree of any size holds a beginning of every chain.
CREATE OR REPLACE FUNCTION bpc_number_events(page integer DEFAULT 100000) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  numbered integer;
BEGIN
  IF bpc_tenant() IS NULL THEN
    RAISE EXCEPTION 'set bpc.tenant_id first' USING ERRCODE = 'null_value_not_allowed';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'event leaves', bpc_tenant()), 0));
  WITH size AS MATERIALIZED (
    SELECT coalesce(max(leaf_index) + 1, 0) AS leaves FROM event_leaves WHERE tenant_id = bpc_tenant()
  ),
  grown AS MATERIALIZED (
    SELECT h.aggregate_type, h.aggregate_id, h.aggregate_version AS last, coalesce(l.aggregate_version, 0) AS before
    FROM event_heads AS h
    LEFT JOIN event_leaf_heads AS l
      ON (l.tenant_id, l.aggregate_type, l.aggregate_id) = (h.tenant_id, h.aggregate_type, h.aggregate_id)
    WHERE h.tenant_id = bpc_tenant() AND h.aggregate_version > coalesce(l.aggregate_version, 0)
    ORDER BY h.aggregate_type, h.aggregate_id
    LIMIT page
  ),
  fresh AS MATERIALIZED (
    SELECT grown.aggregate_type, grown.aggregate_id, e.aggregate_version, e.event_id, e.event_hash
    FROM grown, LATERAL (
      SELECT aggregate_version, event_id, event_hash FROM events
      WHERE tenant_id = bpc_tenant() AND aggregate_type = grown.aggregate_type AND aggregate_id = grown.aggregate_id
        AND aggregate_version > grown.before AND aggregate_version <= grown.last
      ORDER BY aggregate_version
      LIMIT page
    ) AS e
    ORDER BY grown.aggregate_type, grown.aggregate_id, e.aggregate_version
    LIMIT page
  ),
  moved AS (
    INSERT INTO event_leaf_heads (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_hash)
    SELECT DISTINCT ON (aggregate_type, aggregate_id)
           bpc_tenant(), aggregate_type, aggregate_id, aggregate_version, event_hash
    FROM fresh
    ORDER BY aggregate_type, aggregate_id, aggregate_version DESC
    ON CONFLICT (tenant_id, aggregate_type, aggregate_id)
    DO UPDATE SET aggregate_version = excluded.aggregate_version, event_hash = excluded.event_hash
  )
  INSERT INTO event_leaves (tenant_id, leaf_index, event_id, event_hash)
  SELECT bpc_tenant(),
         size.leaves - 1 + row_number() OVER (ORDER BY aggregate_type, aggregate_id, aggregate_version),
         event_id, event_hash
  FROM fresh, size;
  GET DIAGNOSTICS numbered = ROW_COUNT;
  RETURN numbered;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_number_events FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_number_events TO bpc_app;
