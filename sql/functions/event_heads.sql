-- An event is taken at the end of its chain, and if it tells the truth of itself, or not at all. Its hashes are made
-- again. A login speaks for itself, a worker for its jobs, a web server for those who came to it. A time that is not now
-- may be that of an honest transaction that had to wait: run again, it has another.
-- After the insert, and not before it: an insert that ON CONFLICT skips moves no head.
CREATE OR REPLACE FUNCTION bpc_take_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  login text := 'login:' || bpc_login();
  is_own_voice boolean := CASE
    WHEN bpc_who() <> bpc_login() THEN NEW.actor_id = 'login:' || bpc_who()  -- it has said for whom it acts
    WHEN NEW.actor_id = login THEN true
    WHEN NEW.actor_id ~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      THEN pg_has_role(session_user, 'bpc_worker', 'MEMBER')
    WHEN starts_with(NEW.actor_id, login || '/') AND length(NEW.actor_id) > length(login || '/')
      THEN pg_has_role(session_user, 'bpc_web', 'MEMBER')
    ELSE false
    END;
  lie text := CASE
    WHEN NEW.payload_text IS DISTINCT FROM bpc_canonical_json(NEW.payload) THEN 'payload_text is not canonical JSON'
    WHEN (NEW.payload ->> 'salt' ~ '^[0-9a-f]{32}$') IS NOT TRUE THEN 'payload_text has no salt of 32 hex digits'
    WHEN NEW.payload_hash <> sha256(convert_to(NEW.payload_text, 'UTF8')) THEN 'payload_hash is not of payload_text'
    WHEN NEW.event_hash <> bpc_event_hash(
      NEW.tenant_id, NEW.aggregate_type, NEW.aggregate_id, NEW.aggregate_version, NEW.event_type, NEW.occurred_at,
      NEW.actor_id, NEW.payload_hash, NEW.prev_event_hash) THEN 'event_hash is not of the event'
    END;
BEGIN
  IF lie IS NOT NULL THEN
    RAISE EXCEPTION 'the event is refused: %', lie USING ERRCODE = 'check_violation';
  ELSIF NOT is_own_voice THEN
    RAISE EXCEPTION 'the event is refused: its actor is not login:%', bpc_who() USING ERRCODE = 'insufficient_privilege';
  ELSIF abs(extract(epoch FROM NEW.occurred_at - clock_timestamp())) > 10 THEN
    RAISE EXCEPTION 'the event is refused: it is more than 10 s from now'
      USING ERRCODE = 'serialization_failure', HINT = 'Run the transaction again.';
  END IF;

  IF NEW.aggregate_version = 1 THEN
    INSERT INTO event_heads (tenant_id, aggregate_type, aggregate_id, aggregate_version, event_hash, occurred_at)
    VALUES (NEW.tenant_id, NEW.aggregate_type, NEW.aggregate_id, 1, NEW.event_hash, NEW.occurred_at)
    ON CONFLICT DO NOTHING;
  ELSE
    UPDATE event_heads
    SET aggregate_version = NEW.aggregate_version, event_hash = NEW.event_hash, occurred_at = NEW.occurred_at
    WHERE tenant_id = NEW.tenant_id AND aggregate_type = NEW.aggregate_type AND aggregate_id = NEW.aggregate_id
      AND aggregate_version = NEW.aggregate_version - 1 AND event_hash = NEW.prev_event_hash
      AND occurred_at <= NEW.occurred_at;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'another or a later event came first in the chain of % %', NEW.aggregate_type, NEW.aggregate_id
      USING ERRCODE = 'serialization_failure', HINT = 'Run the transaction again.';
  END IF;
  RETURN NEW;
END
$$;

-- The end of a chain, held until the transaction ends; no row when the chain has not begun. Then the place where its
-- head will be is held: the second of two who begin it waits, and follows the first.
CREATE OR REPLACE FUNCTION bpc_lock_event_head(of_type text, of_id uuid)
RETURNS TABLE (aggregate_version integer, event_hash bytea, occurred_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  FOR turn IN 1..2 LOOP
    RETURN QUERY
      SELECT h.aggregate_version, h.event_hash, h.occurred_at FROM event_heads AS h
      WHERE h.tenant_id = bpc_tenant() AND h.aggregate_type = of_type AND h.aggregate_id = of_id
      FOR UPDATE;
    IF FOUND OR turn = 2 THEN
      RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'event head', bpc_tenant(), of_type, of_id), 0));
  END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_take_event, bpc_lock_event_head FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_lock_event_head TO bpc_worker, bpc_app;
