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

-- PostgreSQL reads every CHECK of a table, and every WHEN of a trigger that is concerned, from its stored text again for
-- each UPDATE of each statement. So rules for columns that no claim and no end writes are triggers for those who do
-- write them. Each has the name, the condition and the error of the CHECK that it replaces. After the row and not before:
-- a trigger before it would make COPY insert row by row. Whoever calls this has found the value wrong.
CREATE OR REPLACE FUNCTION bpc_refuse_value() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  given text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
  RAISE EXCEPTION 'new row for relation "%" violates check constraint "%": % is %, but must be %',
    TG_TABLE_NAME, TG_NAME, TG_ARGV[0],
    CASE WHEN length(given) > 100 THEN format('%s characters long', length(given)) ELSE format('"%s"', given) END,
    TG_ARGV[1]
    USING ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = TG_ARGV[0],
          CONSTRAINT = TG_NAME;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_refuse_change, bpc_guard_status, bpc_refuse_value FROM PUBLIC;
