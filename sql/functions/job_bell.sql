-- Whoever inserts jobs wakes the workers at his commit. Our own sessions keep quiet and ring once for many:
-- every NOTIFY makes the commits of a database wait for one another.
CREATE OR REPLACE FUNCTION bpc_ring() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  PERFORM pg_notify('bpc_jobs', '');
  RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_ring FROM PUBLIC;
