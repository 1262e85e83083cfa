-- Whether a version is in force, for everybody who has a view of it: lists that are signed, and the place of each version.
-- Former release: keeps working.
-- Functions first: tenants, guards, status_places, status_lists

-- One list has 2^17 places and one address, `issuer`/status/`status_list`, which views name for life.
CREATE TABLE status_lists (
  status_list integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id   uuid NOT NULL REFERENCES tenants,
  issuer      text NOT NULL CHECK (issuer ~ '^https://[a-z0-9.:-]+$' AND length(issuer) <= 200),
  shuffle_key bytea NOT NULL CHECK (octet_length(shuffle_key) = 32),
  allotted    integer NOT NULL DEFAULT 0 CHECK (allotted BETWEEN 0 AND 131072),
  open        boolean NOT NULL DEFAULT true,  -- beside the count, so that counting touches no index
  created_at  timestamptz NOT NULL DEFAULT now(),
  token       text,         -- as it was signed last
  token_as_of timestamptz,  -- the status of which moment it tells
  token_key_id text,
  UNIQUE (tenant_id, status_list),
  CONSTRAINT status_lists_full CHECK (open = (allotted < 131072)),
  CONSTRAINT status_lists_signed CHECK (
    (token IS NULL) = (token_as_of IS NULL) AND (token IS NULL) = (token_key_id IS NULL))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX status_lists_one_open ON status_lists (tenant_id, issuer) WHERE open;

-- Given before a version is compiled, for ever: a place that was left by a compile that failed is nobody's, and views
-- outlive the versions that retention removes. 2, signed and not in force, is also what a place says that is not taken.
CREATE TABLE status_places (
  passport_version_id uuid PRIMARY KEY,
  tenant_id           uuid NOT NULL,
  status_list         integer NOT NULL,
  status_idx          integer NOT NULL CHECK (status_idx BETWEEN 0 AND 131071),
  status              smallint NOT NULL DEFAULT 2 CHECK (status BETWEEN 0 AND 3),
  UNIQUE (status_list, status_idx),
  UNIQUE (tenant_id, passport_version_id, status_list, status_idx),
  FOREIGN KEY (tenant_id, status_list) REFERENCES status_lists (tenant_id, status_list)
);

CREATE TRIGGER status_lists_keep_address
BEFORE UPDATE OF status_list, tenant_id, issuer, shuffle_key, created_at ON status_lists
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('views name it');
CREATE TRIGGER status_lists_stay BEFORE DELETE ON status_lists
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('views name it');
CREATE TRIGGER status_places_keep_place
BEFORE UPDATE OF passport_version_id, tenant_id, status_list, status_idx ON status_places
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a version keeps its place');
CREATE TRIGGER status_places_stay BEFORE DELETE ON status_places
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a version keeps its place');

CREATE TRIGGER passport_versions_tell_status AFTER UPDATE OF status ON passport_versions
FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION bpc_tell_status();

ALTER TABLE status_lists ENABLE ROW LEVEL SECURITY;
ALTER TABLE status_places ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON status_lists USING (tenant_id = bpc_tenant());
CREATE POLICY own_tenant ON status_places USING (tenant_id = bpc_tenant());

-- Not the key: who has it can tell in which order the versions of a list were made.
GRANT SELECT (status_list, tenant_id, issuer, allotted, open, created_at, token, token_as_of, token_key_id)
  ON status_lists TO bpc_worker, bpc_app, bpc_operator, bpc_reader;
GRANT SELECT ON status_places TO bpc_worker, bpc_app, bpc_operator, bpc_reader;
GRANT UPDATE (token, token_as_of, token_key_id) ON status_lists TO bpc_worker;
