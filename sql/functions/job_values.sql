-- The bytes of a payload as text, which is how it is read. A number of 12 bytes can be 131,072 digits, and to write them
-- takes a millisecond: such numbers are counted first, and no longer than until they are too many.
CREATE OR REPLACE FUNCTION bpc_payload_bytes(payload jsonb, most bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  long_number jsonb;
  bytes bigint := 0;
BEGIN
  FOR long_number IN SELECT jsonb_path_query(payload, 'strict $.** ? (@ > 1e300 || @ < -1e300)') LOOP
    bytes := bytes + octet_length(long_number::text);
    IF bytes > most THEN
      RETURN bytes;
    END IF;
  END LOOP;
  RETURN octet_length(payload::text);
EXCEPTION WHEN program_limit_exceeded THEN
  RETURN 1073741824;  -- more than PostgreSQL can write at all
END
$$;

-- PostgreSQL reads every CHECK of a table, and every WHEN of a trigger that is concerned, from its stored text again for
-- each UPDATE of each statement. So rules for columns that no claim and no end writes are one trigger for those who do
-- write them. Each has the name, the condition and the error of the CHECK that it replaces. After the row and not before:
-- a trigger before it would make COPY insert row by row. Whoever calls this has found a value wrong, or a payload that
-- may be too long.
CREATE OR REPLACE FUNCTION bpc_refuse_job_value() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  most_bytes CONSTANT bigint := 33554432;  -- 32 MiB
  of_column text;
  must_be text;
  given text;
  rule text;
BEGIN
  IF length(NEW.correlation_id) > 500 THEN
    of_column := 'correlation_id'; must_be := 'at most 500 characters long';
  ELSIF NEW.expected_duration_ms <= 0 THEN
    of_column := 'expected_duration_ms'; must_be := 'more than 0';
  ELSIF length(NEW.idempotency_key) NOT BETWEEN 1 AND 500 THEN
    of_column := 'idempotency_key'; must_be := '1 to 500 characters long';
  ELSIF NEW.max_attempts NOT BETWEEN 1 AND 1000000 THEN
    of_column := 'max_attempts'; must_be := '1 to 1000000';
  ELSIF NEW.priority NOT BETWEEN 0 AND 3 THEN
    of_column := 'priority'; must_be := '0 (urgent) to 3 (low)';
  ELSIF length(NEW.queue) NOT BETWEEN 1 AND 100 THEN
    of_column := 'queue'; must_be := '1 to 100 characters long';
  ELSIF NEW.created_at < '1970-01-01Z' OR NEW.created_at >= '9999-01-01Z' THEN
    of_column := 'created_at'; must_be := 'of the years 1970 to 9998'; rule := 'jobs_times_are_finite';
  ELSIF length(NEW.traceparent) > 500 THEN
    of_column := 'traceparent'; must_be := 'at most 500 characters long';
  ELSIF NEW.type !~ '^[A-Z][A-Z0-9_]{2,}$' OR length(NEW.type) > 64 THEN
    of_column := 'type'; must_be := '3 to 64 of A-Z, 0-9 and _, a letter first';
  ELSIF bpc_payload_bytes(NEW.payload, most_bytes) > most_bytes THEN
    of_column := 'payload'; given := 'too long';
    must_be := format('at most %s bytes as text; put large content into a blob (bpc_put_blob) and send its hash',
                      most_bytes);
  ELSE
    RETURN NULL;
  END IF;

  IF given IS NULL THEN
    given := to_jsonb(NEW) ->> of_column;
    given := CASE WHEN length(given) > 100 THEN format('%s characters long', length(given)) ELSE format('"%s"', given) END;
  END IF;
  rule := coalesce(rule, format('jobs_%s_check', of_column));
  RAISE EXCEPTION 'new row for relation "jobs" violates check constraint "%": % is %, but must be %',
    rule, of_column, given, must_be
    USING ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = of_column,
          CONSTRAINT = rule;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_payload_bytes, bpc_refuse_job_value FROM PUBLIC;
