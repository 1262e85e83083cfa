-- Guards that tables share. Whoever may execute a trigger function can put it on a table of his own, and so have it do
-- what it does to rows that he makes up; a trigger that stands needs no grant. So none of them is granted to anybody.

-- For BEFORE UPDATE OF …: what is listed there is written once and never again.
CREATE OR REPLACE FUNCTION bpc_refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  RAISE EXCEPTION '%: % is refused: %', TG_TABLE_NAME, TG_OP, TG_ARGV[0]
    USING ERRCODE = 'restrict_violation';
END
$$;

-- For BEFORE UPDATE OF status: the arguments are the edges that exist, as 'FROM>TO'.
CREATE OR REPLACE FUNCTION bpc_guard_status() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF NEW.status <> OLD.status AND NOT OLD.status || '>' || NEW.status = ANY (TG_ARGV) THEN
    RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status
      USING ERRCODE = 'restrict_violation', HINT = 'Legal: ' || array_to_string(TG_ARGV, ', ');
  END IF;
  RETURN NEW;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_refuse_change, bpc_guard_status FROM PUBLIC;
