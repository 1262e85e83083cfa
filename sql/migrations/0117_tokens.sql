-- Who may come in by the doors: tokens, of which only the hash is kept, sessions of browsers, and who made and revoked them.
-- Former release: keeps working.
-- Functions first: guards, ids, tenants, who, tokens

CREATE TABLE api_tokens (
  token_id     uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id    uuid REFERENCES tenants,  -- NULL: for all tenants
  name         text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,59}$'),
  token_hash   bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),  -- SHA-256
  scopes       text[] NOT NULL CHECK (scopes <> '{}' AND scopes <@ ARRAY[
    'read', 'values', 'write', 'activate', 'webhooks', 'operate', 'scale',
    'priority:0', 'priority:1', 'priority:2', 'priority:3']),
  audience     text NOT NULL DEFAULT 'public' CHECK (audience ~ '^[a-z][a-z_]{0,62}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  created_by   text NOT NULL DEFAULT bpc_who(),
  expires_at   timestamptz NOT NULL,
  revoked_at   timestamptz,
  CONSTRAINT api_tokens_end CHECK (expires_at > created_at AND expires_at < '9999-01-01Z')
);
-- A name stands for one token at a time, for whoever reads who did something.
CREATE UNIQUE INDEX api_tokens_name ON api_tokens (tenant_id, name) WHERE revoked_at IS NULL;
CREATE UNIQUE INDEX api_tokens_name_for_all ON api_tokens (name) WHERE revoked_at IS NULL AND tenant_id IS NULL;

-- Apart from the token, and not tied to it: whoever uses one, and however long his transaction lasts, must not hold up the
-- one that revokes it.
CREATE TABLE token_uses (
  token_id     uuid PRIMARY KEY,
  last_used_at timestamptz  -- to the minute
) WITH (fillfactor = 50);

CREATE TABLE web_sessions (
  session_hash bytea PRIMARY KEY CHECK (octet_length(session_hash) = 32),
  token_id     uuid NOT NULL REFERENCES api_tokens,
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL CHECK (expires_at < '9999-01-01Z')
);
CREATE INDEX web_sessions_token ON web_sessions (token_id);
CREATE INDEX web_sessions_end ON web_sessions (expires_at);

-- Beside the audit trail of a tenant, which a token for all tenants has not, and whoever made it.
CREATE TABLE token_events (
  token_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  token_id uuid NOT NULL REFERENCES api_tokens,
  action   text NOT NULL CHECK (action IN ('created', 'revoked')),
  by       text NOT NULL DEFAULT bpc_who()
);
CREATE INDEX token_events_token ON token_events (token_id);

CREATE TRIGGER api_tokens_stay
BEFORE UPDATE OF token_id, tenant_id, name, token_hash, scopes, audience, created_at, created_by, expires_at OR DELETE
ON api_tokens FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('make another token');
CREATE TRIGGER api_tokens_stay_revoked BEFORE UPDATE OF revoked_at ON api_tokens
FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL) EXECUTE FUNCTION bpc_refuse_change('it was revoked');
CREATE TRIGGER api_tokens_made AFTER INSERT ON api_tokens
FOR EACH ROW EXECUTE FUNCTION bpc_note_token('created');
CREATE TRIGGER api_tokens_revoked AFTER UPDATE OF revoked_at ON api_tokens
FOR EACH ROW EXECUTE FUNCTION bpc_note_token('revoked');
CREATE TRIGGER token_events_stay BEFORE UPDATE OR DELETE ON token_events
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('it has happened');
CREATE TRIGGER web_sessions_stay BEFORE UPDATE ON web_sessions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('begin another session');

ALTER TABLE api_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE token_uses ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON api_tokens USING (tenant_id = bpc_tenant());
CREATE POLICY all_tenants ON api_tokens FOR SELECT TO bpc_reader, bpc_operator USING ((SELECT bpc_tenant()) IS NULL);
CREATE POLICY of_tokens_seen ON token_uses USING (
  EXISTS (SELECT FROM api_tokens AS t WHERE t.token_id = token_uses.token_id));

-- Written by functions alone, and the hashes are read by them alone.
GRANT SELECT (token_id, tenant_id, name, scopes, audience, created_at, created_by, expires_at, revoked_at)
  ON api_tokens TO bpc_app, bpc_operator, bpc_reader;
GRANT SELECT ON token_uses TO bpc_app, bpc_operator, bpc_reader;
GRANT SELECT ON token_events TO bpc_operator, bpc_reader;
