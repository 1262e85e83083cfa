-- The audit trail: events chained by hash, one chain per aggregate, and where each chain ends.
-- Former release: keeps working.

-- Whose rows a transaction may see. NULL, so nothing, unless the transaction has said it.
CREATE FUNCTION bpc_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT NULLIF(current_setting('bpc.tenant_id', true), '')::uuid $$;

-- For BEFORE UPDATE OF …: what is listed there is written once and never again.
CREATE FUNCTION bpc_refuse_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION '%: % is refused: %', TG_TABLE_NAME, TG_OP, TG_ARGV[0]
    USING ERRCODE = 'restrict_violation';
END
$$;

-- For BEFORE UPDATE OF status: the arguments are the edges that exist, as 'FROM>TO'.
CREATE FUNCTION bpc_guard_status() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  IF NEW.status <> OLD.status AND NOT OLD.status || '>' || NEW.status = ANY (TG_ARGV) THEN
    RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status
      USING ERRCODE = 'restrict_violation', HINT = 'Legal: ' || array_to_string(TG_ARGV, ', ');
  END IF;
  RETURN NEW;
END
$$;

-- A UUID of version 7 from an event's time and its hash: in order of time, and nobody's to choose.
CREATE FUNCTION bpc_event_id(occurred_at timestamptz, event_hash bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT encode(
    set_byte(
      set_byte(
        substring(int8send(floor(extract(epoch FROM occurred_at AT TIME ZONE 'UTC') * 1000)::bigint) FROM 3)
        || substring(event_hash FROM 7 FOR 10),
        6, get_byte(event_hash, 6) & 15 | 112),
      8, get_byte(event_hash, 8) & 63 | 128),
    'hex')::uuid
$$;

-- Types are compared byte by byte, as whoever walks the chains of all aggregates compares them.
CREATE TABLE events (
  event_id          uuid PRIMARY KEY GENERATED ALWAYS AS (bpc_event_id(occurred_at, event_hash)) STORED,
  tenant_id         uuid NOT NULL REFERENCES tenants,
  aggregate_type    text COLLATE "C" NOT NULL CHECK (aggregate_type ~ '^[a-z][a-z_]{1,62}$'),
  aggregate_id      uuid NOT NULL,
  aggregate_version integer NOT NULL CHECK (aggregate_version >= 1),
  event_type        text NOT NULL CHECK (event_type ~ '^[A-Z][A-Z_]{2,63}$'),
  occurred_at       timestamptz NOT NULL CHECK (occurred_at >= '1970-01-01Z' AND occurred_at < '9999-01-01Z'),
  actor_id          text NOT NULL CHECK (length(actor_id) BETWEEN 1 AND 200),
  payload           jsonb NOT NULL,
  payload_hash      bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
  prev_event_hash   bytea CHECK (octet_length(prev_event_hash) = 32),
  event_hash        bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  UNIQUE (tenant_id, aggregate_type, aggregate_id, aggregate_version),
  CONSTRAINT events_first_follows_none CHECK ((aggregate_version = 1) = (prev_event_hash IS NULL))
);

-- Kept apart from the events, so that a lost tail shows.
CREATE TABLE event_heads (
  tenant_id         uuid NOT NULL REFERENCES tenants,
  aggregate_type    text COLLATE "C" NOT NULL,
  aggregate_id      uuid NOT NULL,
  aggregate_version integer NOT NULL,
  event_hash        bytea NOT NULL,
  PRIMARY KEY (tenant_id, aggregate_type, aggregate_id)
);

-- An event is appended at the end of its chain or not at all; nobody else moves a head. After the insert, and not
-- before it: an insert that ON CONFLICT skips moves nothing.
CREATE FUNCTION bpc_move_event_head() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  IF NEW.aggregate_version = 1 THEN
    INSERT INTO event_heads (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_hash)
    VALUES (NEW.tenant_id, NEW.aggregate_type, NEW.aggregate_id, 1, NEW.event_hash)
    ON CONFLICT DO NOTHING;
  ELSE
    UPDATE event_heads SET aggregate_version = NEW.aggregate_version, event_hash = NEW.event_hash
    WHERE tenant_id = NEW.tenant_id AND aggregate_type = NEW.aggregate_type AND aggregate_id = NEW.aggregate_id
      AND aggregate_version = NEW.aggregate_version - 1 AND event_hash = NEW.prev_event_hash;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'another event came first in the chain of % %', NEW.aggregate_type, NEW.aggregate_id
      USING ERRCODE = 'serialization_failure', HINT = 'Run the transaction again.';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER events_move_head AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION bpc_move_event_head();

CREATE TRIGGER events_are_for_ever BEFORE UPDATE OR DELETE ON events
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('events are for ever');
CREATE TRIGGER events_are_never_emptied BEFORE TRUNCATE ON events
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('events are for ever');
CREATE TRIGGER event_heads_stay BEFORE DELETE ON event_heads
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('without its head a lost tail would not show');
CREATE TRIGGER event_heads_are_never_emptied BEFORE TRUNCATE ON event_heads
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('without its head a lost tail would not show');

-- The end of a chain, held until the transaction ends; no row when the chain has not begun. Then the place where its
-- head will be is held: the second of two who begin it waits, and follows the first.
CREATE FUNCTION bpc_lock_event_head(of_type text, of_id uuid)
RETURNS TABLE (aggregate_version integer, event_hash bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  FOR turn IN 1..2 LOOP
    RETURN QUERY
      SELECT h.aggregate_version, h.event_hash FROM event_heads AS h
      WHERE h.tenant_id = bpc_tenant() AND h.aggregate_type = of_type AND h.aggregate_id = of_id
      FOR UPDATE;
    IF FOUND OR turn = 2 THEN
      RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'event head', bpc_tenant(), of_type, of_id), 0));
  END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_lock_event_head FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_lock_event_head TO bpc_worker, bpc_app;

-- Whoever may execute a trigger function can put it on a table of his own, and so have it do what it does to rows that
-- he makes up. A trigger that stands needs no grant.
REVOKE EXECUTE ON FUNCTION bpc_guard_job_edge, bpc_move_event_head FROM PUBLIC;

ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON events USING (tenant_id = bpc_tenant());
ALTER TABLE event_heads ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON event_heads USING (tenant_id = bpc_tenant());

GRANT SELECT, INSERT ON events TO bpc_worker, bpc_app;
GRANT SELECT ON event_heads TO bpc_worker, bpc_app;
GRANT SELECT ON events, event_heads TO bpc_operator, bpc_reader;
