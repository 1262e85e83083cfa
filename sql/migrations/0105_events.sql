-- The audit trail: events chained by hash, one chain per aggregate, where each chain ends, and the order in which its events
-- are leaves of a tree.
-- Former release: keeps working.
-- Functions first: ids, guards, event_forms, event_heads

-- Types are compared byte by byte, as whoever walks the chains of all aggregates compares them. What is hashed is the text
-- of the payload; to read it there is the same as jsonb, and nobody can make the two differ.
CREATE TABLE events (
  event_id          uuid PRIMARY KEY GENERATED ALWAYS AS (bpc_event_id(occurred_at, event_hash)) STORED,
  tenant_id         uuid NOT NULL REFERENCES tenants,
  aggregate_type    text COLLATE "C" NOT NULL CHECK (aggregate_type ~ '^[a-z][a-z_]{1,62}$'),
  aggregate_id      uuid NOT NULL,
  aggregate_version integer NOT NULL CHECK (aggregate_version >= 1),
  event_type        text NOT NULL CHECK (event_type ~ '^[A-Z][A-Z_]{2,63}$'),
  occurred_at       timestamptz NOT NULL CHECK (occurred_at >= '1970-01-01Z' AND occurred_at < '9999-01-01Z'),
  actor_id          text NOT NULL CHECK (length(actor_id) BETWEEN 1 AND 200),
  payload_text      text NOT NULL,
  payload           jsonb NOT NULL GENERATED ALWAYS AS (payload_text::jsonb) STORED,
  payload_hash      bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
  prev_event_hash   bytea CHECK (octet_length(prev_event_hash) = 32),
  event_hash        bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  UNIQUE (tenant_id, aggregate_type, aggregate_id, aggregate_version),
  CONSTRAINT events_first_follows_none CHECK ((aggregate_version = 1) = (prev_event_hash IS NULL))
);

-- Kept apart from the events, so that a lost tail shows.
CREATE TABLE event_heads (
  tenant_id         uuid NOT NULL REFERENCES tenants,
  aggregate_type    text COLLATE "C" NOT NULL,
  aggregate_id      uuid NOT NULL,
  aggregate_version integer NOT NULL,
  event_hash        bytea NOT NULL,
  occurred_at       timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, aggregate_type, aggregate_id)
);

-- One tree per tenant (RFC 9162) over the hashes of its events. Transactions commit in no order that anybody can name
-- later, so leaves are numbered when a checkpoint is made, and never again.
CREATE TABLE event_leaves (
  tenant_id  uuid NOT NULL REFERENCES tenants,
  leaf_index bigint NOT NULL CHECK (leaf_index >= 0),
  event_id   uuid NOT NULL UNIQUE,
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  PRIMARY KEY (tenant_id, leaf_index)
);

-- How far each chain has leaves. Apart from event_heads: whoever numbers them does not hold up whoever appends.
CREATE TABLE event_leaf_heads (
  tenant_id         uuid NOT NULL REFERENCES tenants,
  aggregate_type    text COLLATE "C" NOT NULL,
  aggregate_id      uuid NOT NULL,
  aggregate_version integer NOT NULL,
  event_hash        bytea NOT NULL,
  PRIMARY KEY (tenant_id, aggregate_type, aggregate_id)
);

CREATE TRIGGER events_are_true AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION bpc_take_event();

CREATE TRIGGER events_are_for_ever BEFORE UPDATE OR DELETE ON events
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('events are for ever');
CREATE TRIGGER events_are_never_emptied BEFORE TRUNCATE ON events
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('events are for ever');
CREATE TRIGGER event_heads_stay BEFORE DELETE ON event_heads
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('without its head a lost tail would not show');
CREATE TRIGGER event_heads_are_never_emptied BEFORE TRUNCATE ON event_heads
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('without its head a lost tail would not show');

CREATE TRIGGER event_leaves_are_for_ever BEFORE UPDATE OR DELETE ON event_leaves
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a leaf keeps its number for ever');
CREATE TRIGGER event_leaves_are_never_emptied BEFORE TRUNCATE ON event_leaves
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('a leaf keeps its number for ever');
CREATE TRIGGER event_leaf_heads_stay BEFORE DELETE ON event_leaf_heads
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('without it an event would become a leaf twice');
CREATE TRIGGER event_leaf_heads_are_never_emptied BEFORE TRUNCATE ON event_leaf_heads
FOR EACH STATEMENT EXECUTE FUNCTION bpc_refuse_change('without it an event would become a leaf twice');

GRANT INSERT ON events TO bpc_worker, bpc_app;
