-- An event is appended at the end of its chain or not at all; nobody else moves a head. After the insert, and not
-- before it: an insert that ON CONFLICT skips moves nothing.
CREATE OR REPLACE FUNCTION bpc_move_event_head() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
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

-- The end of a chain, held until the transaction ends; no row when the chain has not begun. Then the place where its
-- head will be is held: the second of two who begin it waits, and follows the first.
CREATE OR REPLACE FUNCTION bpc_lock_event_head(of_type text, of_id uuid)
RETURNS TABLE (aggregate_version integer, event_hash bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
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

REVOKE EXECUTE ON FUNCTION bpc_move_event_head, bpc_lock_event_head FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_lock_event_head TO bpc_worker, bpc_app;
