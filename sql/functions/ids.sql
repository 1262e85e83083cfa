-- Time-ordered ids (RFC 9562, version 7): neighbours in time are neighbours in the index.
CREATE OR REPLACE FUNCTION bpc_uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN
  encode(
    set_bit(                                       -- version 4 (0100) becomes 7 (0111)
      set_bit(
        overlay(
          uuid_send(gen_random_uuid())
          PLACING substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
          FROM 1 FOR 6
        ),
        52, 1),
      53, 1),
    'hex')::uuid;

-- A UUID of version 7 from an event's time and its hash: in order of time, and nobody's to choose.
CREATE OR REPLACE FUNCTION bpc_event_id(occurred_at timestamptz, event_hash bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN
  encode(
    set_byte(
      set_byte(
        substring(int8send(floor(extract(epoch FROM occurred_at AT TIME ZONE 'UTC') * 1000)::bigint) FROM 3)
        || substring(event_hash FROM 7 FOR 10),
        6, get_byte(event_hash, 6) & 15 | 112),
      8, get_byte(event_hash, 8) & 63 | 128),
    'hex')::uuid;

REVOKE EXECUTE ON FUNCTION bpc_uuid_v7, bpc_event_id FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_uuid_v7 TO bpc_worker, bpc_producer, bpc_app;
GRANT EXECUTE ON FUNCTION bpc_event_id TO bpc_worker, bpc_app;
