-- BPC-CJSON-1: the one text of a value; what has no place in it is left out, so that the text is that of another value: a
-- number that is not whole or not safe, a name with a character above U+FFFF, what is below 256 levels. It sets no search_path, which would cost more than all the
-- rest: it names what is ours, and whoever calls it has set his.
CREATE OR REPLACE FUNCTION bpc_canonical_json(value jsonb, levels integer DEFAULT 256) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
  RETURN CASE
    WHEN jsonb_typeof(value) = 'object' AND levels > 0 THEN (
      SELECT concat('{', string_agg(
        to_json(m.key) || ':' || CASE WHEN jsonb_typeof(m.value) IN ('object', 'array', 'number')
          THEN {schema}.bpc_canonical_json(m.value, levels - 1) ELSE m.value::text END,
        ',' ORDER BY m.key COLLATE "C"), '}')
      FROM jsonb_each(value) AS m
      WHERE m.key !~ '[\U00010000-\U0010FFFF]')
    WHEN jsonb_typeof(value) = 'array' AND levels > 0 THEN (
      SELECT concat('[', string_agg({schema}.bpc_canonical_json(i.value, levels - 1), ',' ORDER BY i.position), ']')
      FROM jsonb_array_elements(value) WITH ORDINALITY AS i (value, position))
    WHEN jsonb_typeof(value) = 'number' THEN
      CASE WHEN value::text ~ '^-?[0-9]{1,16}$' AND abs(value::numeric) < 9007199254740992 THEN value::text END
    WHEN jsonb_typeof(value) NOT IN ('object', 'array') THEN value::text
  END;
END
$$;

-- BPC-EVENT-1: the hash of an event, made from its columns. Types of aggregates and events need no escapes.
CREATE OR REPLACE FUNCTION bpc_event_hash(
  tenant_id uuid, aggregate_type text, aggregate_id uuid, aggregate_version integer, event_type text,
  occurred_at timestamptz, actor_id text, payload_hash bytea, prev_event_hash bytea
) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN
  sha256(convert_to(concat(
    '{"actor_id":', to_json(actor_id), ',"aggregate_id":"', aggregate_id, '","aggregate_type":"', aggregate_type,
    '","aggregate_version":', aggregate_version, ',"event_type":"', event_type,
    '","occurred_at":"', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    '","payload_hash":"', encode(payload_hash, 'hex'),
    '","prev_event_hash":', coalesce(to_json(encode(prev_event_hash, 'hex')), 'null'),
    ',"tenant_id":"', tenant_id, '"}'), 'UTF8'));

REVOKE EXECUTE ON FUNCTION bpc_canonical_json, bpc_event_hash FROM PUBLIC;
