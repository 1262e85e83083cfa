-- A battery that was recycled has no passport any more: no other life, no other version, none in force.
CREATE OR REPLACE FUNCTION bpc_guard_life() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM passport_lives AS l WHERE l.passport_id = NEW.passport_id AND l.status = 'recycled') THEN
    RAISE EXCEPTION 'passport % has ended: its battery was recycled', NEW.passport_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_guard_life FROM PUBLIC;
