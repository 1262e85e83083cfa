-- What suppliers send, the facts in it, and the snapshots that passports are made from.
-- Former release: keeps working.
-- Functions first: guards, retention, snapshots, blobs

-- The bytes of documents, each once for a tenant, by their hash; bpc_put_blob alone writes them. They are kept as they
-- came, uncompressed, so that any part of them can be read without the rest.
CREATE TABLE blobs (
  tenant_id uuid NOT NULL REFERENCES tenants,
  sha256    bytea NOT NULL CHECK (octet_length(sha256) = 32),
  size      integer NOT NULL,
  content   bytea NOT NULL,
  put_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, sha256),
  CONSTRAINT blobs_size_is_of_its_bytes CHECK (size = octet_length(content))
);
ALTER TABLE blobs ALTER COLUMN content SET STORAGE EXTERNAL;

-- A document keeps its name while its versions come and go; the name means the version that was sent last, be it bytes
-- that first came under another name.
CREATE TABLE documents (
  document_id  uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id    uuid NOT NULL REFERENCES tenants,
  kind         text NOT NULL CHECK (kind IN (
    'BOM', 'PCF', 'DUE_DILIGENCE', 'DATA_SHEET', 'SERIALS', 'MEASUREMENTS', 'ATTACHMENT', 'OTHER')),
  external_ref text NOT NULL CHECK (length(external_ref) BETWEEN 1 AND 500),
  created_at   timestamptz NOT NULL DEFAULT now(),
  sent_version_id uuid,
  sent_at      timestamptz,
  UNIQUE (tenant_id, kind, external_ref),
  UNIQUE (tenant_id, document_id)
);

-- Bytes and what the sender says about them: a number means something else when its notation is corrected.
CREATE TABLE document_versions (
  document_version_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id           uuid NOT NULL,
  document_id         uuid NOT NULL,
  sha256              bytea NOT NULL CHECK (octet_length(sha256) = 32),
  kind                text NOT NULL,
  mime_type           text NOT NULL CHECK (length(mime_type) BETWEEN 1 AND 200),
  number_format       text,
  mapping             text,  -- JSON: what the sender's own titles mean
  status              text NOT NULL DEFAULT 'UPLOADED' CHECK (status IN ('UPLOADED', 'VALIDATED', 'REJECTED')),
  errors              jsonb,
  created_at          timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, document_version_id),
  FOREIGN KEY (tenant_id, document_id) REFERENCES documents (tenant_id, document_id),
  FOREIGN KEY (tenant_id, sha256) REFERENCES blobs (tenant_id, sha256),
  -- Of one that was rejected, why; of one that was taken, the single values that were not.
  CONSTRAINT document_versions_judged_has_errors CHECK (
    CASE status WHEN 'UPLOADED' THEN errors IS NULL WHEN 'REJECTED' THEN errors IS NOT NULL ELSE true END)
);
CREATE UNIQUE INDEX document_versions_same
  ON document_versions (tenant_id, sha256, kind, mime_type, coalesce(number_format, ''), coalesce(mapping, ''));
CREATE INDEX document_versions_document ON document_versions (document_id);
ALTER TABLE documents ADD FOREIGN KEY (tenant_id, sent_version_id)
  REFERENCES document_versions (tenant_id, document_version_id) ON DELETE SET NULL (sent_version_id);
CREATE INDEX documents_sent_version ON documents (sent_version_id);

CREATE TABLE facts (
  fact_id        uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id      uuid NOT NULL REFERENCES tenants,
  fact_type      text NOT NULL CHECK (length(fact_type) BETWEEN 1 AND 200),
  fact_key       text NOT NULL CHECK (length(fact_key) BETWEEN 1 AND 1000),
  schema_version integer NOT NULL CHECK (schema_version >= 1),
  payload        jsonb NOT NULL,
  canonical      bytea NOT NULL,
  payload_hash   bytea NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, fact_type, fact_key, schema_version, payload_hash),
  UNIQUE (tenant_id, fact_id),
  CONSTRAINT facts_hash_is_of_its_bytes CHECK (payload_hash = sha256(canonical))
);

-- Where a fact was found; the same fact may stand in several documents.
CREATE TABLE fact_sources (
  tenant_id           uuid NOT NULL,
  fact_id             uuid NOT NULL,
  document_version_id uuid NOT NULL,
  pointer             text NOT NULL,
  found_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (document_version_id, fact_id, pointer),
  FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, fact_id),
  FOREIGN KEY (tenant_id, document_version_id) REFERENCES document_versions (tenant_id, document_version_id)
);
CREATE INDEX fact_sources_fact ON fact_sources (fact_id);

CREATE TABLE data_snapshots (
  snapshot_id   uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id     uuid NOT NULL REFERENCES tenants,
  status        text NOT NULL DEFAULT 'BUILDING' CHECK (status IN ('BUILDING', 'READY', 'SEALED')),
  canonical     bytea,
  snapshot_hash bytea,
  created_at    timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, snapshot_id),
  CONSTRAINT data_snapshots_sealed_has_bytes CHECK (
    (status = 'SEALED') = (canonical IS NOT NULL)
    AND (canonical IS NULL) = (snapshot_hash IS NULL)
    AND (canonical IS NULL OR snapshot_hash = sha256(canonical)))
);

CREATE TABLE snapshot_items (
  tenant_id   uuid NOT NULL,
  snapshot_id uuid NOT NULL,
  fact_id     uuid NOT NULL,
  PRIMARY KEY (snapshot_id, fact_id),
  FOREIGN KEY (tenant_id, snapshot_id) REFERENCES data_snapshots (tenant_id, snapshot_id),
  FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, fact_id)
);

CREATE INDEX snapshot_items_fact ON snapshot_items (fact_id);

-- What leaves by retention alone keeps a guard against all others.
CREATE TRIGGER blobs_keep_content BEFORE UPDATE OF tenant_id, sha256, size, content ON blobs
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a hash has one content');
CREATE TRIGGER blobs_leave_by_retention BEFORE DELETE ON blobs
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes blobs');
CREATE TRIGGER documents_stay BEFORE UPDATE OF document_id, tenant_id, kind, external_ref, created_at OR DELETE ON documents
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a document keeps its name and its kind');
CREATE TRIGGER document_versions_keep_content
BEFORE UPDATE OF document_version_id, tenant_id, document_id, sha256, kind, mime_type, number_format, mapping, created_at
ON document_versions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('what was sent never changes: send a new version');
CREATE TRIGGER document_versions_status BEFORE UPDATE OF status, errors ON document_versions
FOR EACH ROW EXECUTE FUNCTION bpc_guard_status('UPLOADED>VALIDATED', 'UPLOADED>REJECTED');
CREATE TRIGGER document_versions_keep_verdict BEFORE UPDATE OF errors ON document_versions
FOR EACH ROW WHEN (OLD.status <> 'UPLOADED')
EXECUTE FUNCTION bpc_refuse_change('it has been judged');
CREATE TRIGGER document_versions_leave_by_retention BEFORE DELETE ON document_versions
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes documents');
CREATE TRIGGER facts_stay BEFORE UPDATE ON facts
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('facts never change');
CREATE TRIGGER facts_leave_by_retention BEFORE DELETE ON facts
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes facts');
CREATE TRIGGER fact_sources_stay BEFORE UPDATE ON fact_sources
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('where a fact was found never changes');
CREATE TRIGGER fact_sources_leave_by_retention BEFORE DELETE ON fact_sources
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes facts');
CREATE TRIGGER data_snapshots_status BEFORE UPDATE OF status ON data_snapshots
FOR EACH ROW EXECUTE FUNCTION bpc_guard_status('BUILDING>READY', 'BUILDING>SEALED', 'READY>SEALED');
CREATE TRIGGER data_snapshots_sealed_stay BEFORE UPDATE OR DELETE ON data_snapshots
FOR EACH ROW WHEN (OLD.status = 'SEALED')
EXECUTE FUNCTION bpc_refuse_change('sealed is for ever');
CREATE TRIGGER snapshot_items_stay BEFORE UPDATE ON snapshot_items
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('make another snapshot');
CREATE TRIGGER snapshot_items_leave_by_retention BEFORE DELETE ON snapshot_items
FOR EACH ROW EXECUTE FUNCTION bpc_guard_snapshot_item();
CREATE TRIGGER snapshot_items_while_building AFTER INSERT ON snapshot_items
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION bpc_guard_snapshot_items();

GRANT INSERT ON documents, facts, fact_sources, snapshot_items TO bpc_worker, bpc_app;
-- Not the status: everything begins at its beginning.
GRANT INSERT (document_version_id, tenant_id, document_id, sha256, kind, mime_type, number_format, mapping)
  ON document_versions TO bpc_worker, bpc_app;
GRANT UPDATE (sent_version_id, sent_at) ON documents TO bpc_worker;
GRANT INSERT (snapshot_id, tenant_id) ON data_snapshots TO bpc_worker, bpc_app;
GRANT UPDATE (status, errors) ON document_versions TO bpc_worker;
GRANT UPDATE (status, canonical, snapshot_hash) ON data_snapshots TO bpc_worker, bpc_app;
