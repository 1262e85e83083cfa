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

-- A battery has one passport in force: not the one of a former life beside that of the next.
CREATE OR REPLACE FUNCTION bpc_guard_followed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM passport_predecessors AS r
             JOIN passport_versions AS v ON v.tenant_id = r.tenant_id AND v.status = 'ACTIVE'
               AND v.passport_id IN (r.passport_id, r.predecessor_id)
             WHERE r.tenant_id = NEW.tenant_id AND NEW.passport_id IN (r.passport_id, r.predecessor_id)
               AND v.passport_id <> NEW.passport_id) THEN
    RAISE EXCEPTION 'passport % is not the battery''s only one in force: another life of it has one', NEW.passport_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_guard_life, bpc_guard_followed FROM PUBLIC;
