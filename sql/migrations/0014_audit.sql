-- What the audit trail tells of dead letters, and the order in which its events are leaves of a tree.
-- Former release: keeps working. RECORD_DEAD_LETTER waits for a worker of this one.

-- A job that dies leaves a job behind that tells it in the audit trail. Two types do not: a delivery, because the event
-- may be delivered to the very endpoint that fails, and the telling itself. In the dead job's queue, where somebody works.
CREATE FUNCTION bpc_record_dead_letter() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  INSERT INTO jobs (tenant_id, type, queue, payload, parent_job_id, correlation_id, traceparent)
  VALUES (NEW.tenant_id, 'RECORD_DEAD_LETTER', NEW.queue, jsonb_build_object('job_id', NEW.job_id), NEW.job_id,
          NEW.correlation_id, NEW.traceparent);
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_record_dead_letter FROM PUBLIC;
CREATE TRIGGER jobs_record_dead_letter AFTER UPDATE OF status ON jobs
FOR EACH ROW WHEN (NEW.status = 'DEAD_LETTER' AND OLD.status <> 'DEAD_LETTER'
                   AND NEW.type NOT IN ('RECORD_DEAD_LETTER', 'DELIVER_WEBHOOK'))
EXECUTE FUNCTION bpc_record_dead_letter();

-- One tree per tenant (RFC 9162) over the hashes of its events. Transactions commit in no order that anybody can name
-- later, so leaves are numbered when a checkpoint is made, and never again.
CREATE TABLE event_leaves (
  tenant_id  uuid NOT NULL REFERENCES tenants,
  leaf_index bigint NOT NULL CHECK (leaf_index >= 0),
  event_id   uuid NOT NULL UNIQUE,
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  PRIMARY KEY (tenant_id, leaf_index)
);

-- How far each chain has leaves. Apart from event_heads: whoever numbers them does not hold up whoever appends.
CREATE TABLE event_leaf_heads (
  tenant_id         uuid NOT NULL REFERENCES tenants,
  aggregate_type    text COLLATE "C" NOT NULL,
  aggregate_id      uuid NOT NULL,
  aggregate_version integer NOT NULL,
  event_hash        bytea NOT NULL,
  PRIMARY KEY (tenant_id, aggregate_type, aggregate_id)
);

CREATE TRIGGER event_leaves_are_for_ever BEFORE UPDATE OR DELETE ON event_leaves
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a leaf keeps its number for ever');
CREATE TRIGGER event_leaves_are_never_emptied BEFORE TRUNCATE ON event_leaves
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('a leaf keeps its number for ever');
CREATE TRIGGER event_leaf_heads_stay BEFORE DELETE ON event_leaf_heads
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('without it an event would become a leaf twice');
CREATE TRIGGER event_leaf_heads_are_never_emptied BEFORE TRUNCATE ON event_leaf_heads
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('without it an event would become a leaf twice');

-- Numbers the next `page` events of the tenant that have no leaf yet, chain by chain, and returns how many there were:
-- call it, each time in a transaction of its own, until it returns less than a page. Within a chain the order of leaves
-- is that of its events, so a tree of any size holds a beginning of every chain.
CREATE FUNCTION bpc_number_events(page integer DEFAULT 100000) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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

ALTER TABLE event_leaves ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON event_leaves USING (tenant_id = bpc_tenant());
ALTER TABLE event_leaf_heads ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON event_leaf_heads USING (tenant_id = bpc_tenant());
GRANT SELECT ON event_leaves, event_leaf_heads TO bpc_worker, bpc_app, bpc_operator, bpc_reader;
