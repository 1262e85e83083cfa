-- Rules, products, passports with their versions, the builds that lead to them, and the keys that sign.
-- Former release: keeps working.
-- Functions first: guards, retention, passports

CREATE TABLE rule_packages (
  rule_package_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id       uuid NOT NULL REFERENCES tenants,
  name            text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, name),
  UNIQUE (tenant_id, rule_package_id)
);

CREATE TABLE rule_package_versions (
  rule_package_version_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id               uuid NOT NULL,
  rule_package_id         uuid NOT NULL,
  version                 integer NOT NULL CHECK (version >= 1),
  dsl                     text NOT NULL,
  dsl_sha256              bytea NOT NULL CHECK (octet_length(dsl_sha256) = 32),
  tests_sha256            bytea NOT NULL CHECK (octet_length(tests_sha256) = 32),
  status                  text NOT NULL DEFAULT 'DRAFT'
                          CHECK (status IN ('DRAFT', 'VALIDATED', 'PUBLISHED', 'RETIRED')),
  created_at              timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, rule_package_id, version),
  UNIQUE (tenant_id, rule_package_id, dsl_sha256),
  UNIQUE (tenant_id, rule_package_version_id),
  FOREIGN KEY (tenant_id, rule_package_id) REFERENCES rule_packages (tenant_id, rule_package_id),
  CONSTRAINT rule_package_versions_hash CHECK (dsl_sha256 = sha256(convert_to(dsl, 'UTF8')))
);

CREATE TABLE rule_tests_runs (
  rule_tests_run_id       uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id               uuid NOT NULL,
  rule_package_version_id uuid NOT NULL,
  job_id                  uuid NOT NULL UNIQUE,
  seed                    bigint NOT NULL,
  cases                   integer NOT NULL,
  passed                  boolean NOT NULL,
  report                  jsonb NOT NULL,
  created_at              timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (tenant_id, rule_package_version_id)
    REFERENCES rule_package_versions (tenant_id, rule_package_version_id)
);

CREATE INDEX rule_tests_runs_version ON rule_tests_runs (rule_package_version_id);

CREATE TABLE battery_products (
  battery_product_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id          uuid NOT NULL REFERENCES tenants,
  identifier         text NOT NULL CHECK (length(identifier) BETWEEN 1 AND 200),
  name               text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  model_identifier   text CHECK (length(model_identifier) BETWEEN 1 AND 200),
  gtin               text CHECK (gtin ~ '^[0-9]{14}$'),
  commodity_code     text CHECK (commodity_code ~ '^[0-9]{6,10}$'),
  created_at         timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, identifier),
  UNIQUE (tenant_id, gtin),
  UNIQUE (tenant_id, battery_product_id)
);

-- One battery, by its serial number; its versions tell how the passport changed. What stands on the battery is the
-- unique identifier: given once, for life, nobody else's in the whole installation.
CREATE TABLE passports (
  passport_id        uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id          uuid NOT NULL,
  battery_product_id uuid NOT NULL,
  serial             text NOT NULL CHECK (length(serial) BETWEEN 1 AND 200),
  granularity        text NOT NULL DEFAULT 'item' CHECK (granularity IN ('model', 'batch', 'item')),
  unique_identifier  text NOT NULL UNIQUE CHECK (
    unique_identifier ~ ('^https://[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+'
                         '/(01/[0-9]{14}/21/([A-Za-z0-9._~-]|%[0-9A-F]{2}){1,60}|p/[0-9A-HJKMNP-TV-Z]{16})$')),
  created_at         timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, battery_product_id, serial),
  UNIQUE (tenant_id, passport_id),
  FOREIGN KEY (tenant_id, battery_product_id) REFERENCES battery_products (tenant_id, battery_product_id)
);

CREATE TABLE signing_keys (
  tenant_id  uuid NOT NULL REFERENCES tenants,
  key_id     text NOT NULL CHECK (length(key_id) BETWEEN 1 AND 200),
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  status     text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'RETIRED', 'REVOKED')),
  -- The key of status lists signs every hour unseen, and is for nothing else.
  purposes   text[] NOT NULL DEFAULT '{passport,checkpoint}' CHECK (
    purposes <> '{}' AND purposes <@ '{passport,checkpoint}' OR purposes = '{status}'),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, key_id),
  CONSTRAINT signing_keys_one_name UNIQUE (tenant_id, public_key),
  -- Every spelling of the points of order 1, 2, 4 and 8: under them one signature fits many messages.
  CONSTRAINT signing_keys_small_order CHECK (public_key NOT IN (
    '\x0100000000000000000000000000000000000000000000000000000000000000',
    '\x0100000000000000000000000000000000000000000000000000000000000080',
    '\xeeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '\xeeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    '\xecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '\xecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    '\x0000000000000000000000000000000000000000000000000000000000000000',
    '\x0000000000000000000000000000000000000000000000000000000000000080',
    '\xedffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '\xedffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    '\x26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    '\x26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
    '\xc7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    '\xc7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa'))
);

CREATE TABLE passport_versions (
  passport_version_id     uuid PRIMARY KEY,
  tenant_id               uuid NOT NULL,
  passport_id             uuid NOT NULL,
  snapshot_id             uuid NOT NULL,
  rule_package_version_id uuid NOT NULL,
  compiler_build_id       text NOT NULL,
  law_date                date NOT NULL,
  issued_at               timestamptz NOT NULL,
  status                  text NOT NULL DEFAULT 'COMPILING'
                          CHECK (status IN ('COMPILING', 'SIGNED', 'ACTIVE', 'SUPERSEDED', 'REVOKED')),
  payload                 bytea NOT NULL,
  proof                   bytea NOT NULL,
  receipt                 bytea NOT NULL,
  payload_hash            bytea NOT NULL,
  proof_root_hash         bytea NOT NULL CHECK (octet_length(proof_root_hash) = 32),
  unique_identifier       text NOT NULL,
  status_list             integer NOT NULL CHECK (status_list >= 0),
  status_idx              integer NOT NULL CHECK (status_idx >= 0),
  fields                  bytea NOT NULL,  -- the claim `fields` of its view
  disclosures             bytea NOT NULL,  -- all of them, one per line
  receipt_hash            bytea NOT NULL,
  disclosure_seed         bytea NOT NULL CHECK (octet_length(disclosure_seed) = 32),
  signing_key_id          text NOT NULL,
  signature               bytea CHECK (octet_length(signature) = 64),
  view_signature          bytea CHECK (octet_length(view_signature) = 64),
  public_key              bytea CHECK (octet_length(public_key) = 32),
  qr_payload              text,
  qr_png                  bytea,
  created_at              timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, passport_id, snapshot_id, rule_package_version_id, compiler_build_id, law_date, issued_at),
  UNIQUE (tenant_id, passport_version_id),
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id),
  FOREIGN KEY (tenant_id, snapshot_id) REFERENCES data_snapshots (tenant_id, snapshot_id),
  FOREIGN KEY (tenant_id, rule_package_version_id)
    REFERENCES rule_package_versions (tenant_id, rule_package_version_id),
  FOREIGN KEY (tenant_id, signing_key_id) REFERENCES signing_keys (tenant_id, key_id),
  CONSTRAINT passport_versions_hashes CHECK (
    payload_hash = sha256(payload) AND receipt_hash = sha256(receipt)),
  CONSTRAINT passport_versions_signed_has_signature CHECK (
    (status = 'COMPILING') = (signature IS NULL) AND (signature IS NULL) = (public_key IS NULL)
    AND (signature IS NULL) = (view_signature IS NULL)),
  CONSTRAINT passport_versions_qr_after_signature CHECK (
    (qr_payload IS NULL) = (qr_png IS NULL) AND (qr_payload IS NULL OR signature IS NOT NULL))
);
CREATE UNIQUE INDEX passport_versions_one_active ON passport_versions (passport_id) WHERE status = 'ACTIVE';
CREATE INDEX passport_versions_snapshot ON passport_versions (snapshot_id);
CREATE INDEX passport_versions_key ON passport_versions (tenant_id, signing_key_id) WHERE status = 'COMPILING';

-- From documents to a signed passport without a person in between.
CREATE TABLE passport_builds (
  build_id                uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id               uuid NOT NULL,
  battery_product_id      uuid NOT NULL,
  passport_id             uuid NOT NULL,
  rule_package_version_id uuid NOT NULL,
  law_date                date NOT NULL,
  state                   text NOT NULL DEFAULT 'DOCUMENTS'
                          CHECK (state IN ('DOCUMENTS', 'SNAPSHOT', 'COMPILE', 'SIGN', 'QR', 'DONE', 'STOPPED')),
  snapshot_id             uuid,
  passport_version_id     uuid,
  errors                  jsonb,
  created_at              timestamptz NOT NULL DEFAULT now(),
  finished_at             timestamptz,
  UNIQUE (tenant_id, build_id),
  FOREIGN KEY (tenant_id, battery_product_id) REFERENCES battery_products (tenant_id, battery_product_id),
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id),
  FOREIGN KEY (tenant_id, rule_package_version_id)
    REFERENCES rule_package_versions (tenant_id, rule_package_version_id),
  FOREIGN KEY (tenant_id, snapshot_id) REFERENCES data_snapshots (tenant_id, snapshot_id),
  FOREIGN KEY (tenant_id, passport_version_id) REFERENCES passport_versions (tenant_id, passport_version_id),
  CONSTRAINT passport_builds_stopped_has_errors CHECK ((state = 'STOPPED') = (errors IS NOT NULL))
);
CREATE INDEX passport_builds_passport ON passport_builds (passport_id, created_at);
CREATE INDEX passport_builds_snapshot ON passport_builds (snapshot_id);
CREATE INDEX passport_builds_version ON passport_builds (passport_version_id);

-- The documents a build expects, each by the name of its file, the bytes wanted and what is said about them. What
-- comes late, after the folder has changed, is not wanted any more. `sent` counts how often they were sent.
CREATE TABLE passport_build_documents (
  tenant_id           uuid NOT NULL,
  build_id            uuid NOT NULL,
  external_ref        text NOT NULL,
  kind                text NOT NULL,
  mime_type           text NOT NULL,
  number_format       text,
  mapping             text,
  sha256              bytea NOT NULL CHECK (octet_length(sha256) = 32),
  sent                integer NOT NULL DEFAULT 1,
  document_version_id uuid,
  PRIMARY KEY (build_id, external_ref),
  FOREIGN KEY (tenant_id, build_id) REFERENCES passport_builds (tenant_id, build_id),
  FOREIGN KEY (tenant_id, document_version_id) REFERENCES document_versions (tenant_id, document_version_id)
);
CREATE INDEX passport_build_documents_version ON passport_build_documents (document_version_id);

CREATE TRIGGER rule_package_versions_keep_text
BEFORE UPDATE OF rule_package_version_id, tenant_id, rule_package_id, version, dsl, dsl_sha256, tests_sha256, created_at
ON rule_package_versions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('rules never change: add a version');
CREATE TRIGGER rule_package_versions_status BEFORE UPDATE OF status ON rule_package_versions
FOR EACH ROW EXECUTE FUNCTION bpc_guard_status('DRAFT>VALIDATED', 'VALIDATED>PUBLISHED', 'PUBLISHED>RETIRED');
CREATE TRIGGER rule_package_versions_tested BEFORE UPDATE OF status ON rule_package_versions
FOR EACH ROW WHEN (OLD.status = 'DRAFT' AND NEW.status = 'VALIDATED') EXECUTE FUNCTION bpc_guard_tested();
CREATE TRIGGER rule_package_versions_stay BEFORE DELETE ON rule_package_versions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('passports name them');
CREATE TRIGGER rule_tests_runs_stay BEFORE UPDATE OR DELETE ON rule_tests_runs
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('what was tested stays');
CREATE TRIGGER passports_stay BEFORE UPDATE OR DELETE ON passports
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a passport keeps its battery and its identifier');
CREATE TRIGGER signing_keys_keep_key BEFORE UPDATE OF tenant_id, key_id, public_key, purposes, created_at ON signing_keys
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a key id stands for one key: add another');
CREATE TRIGGER signing_keys_status BEFORE UPDATE OF status ON signing_keys
FOR EACH ROW EXECUTE FUNCTION bpc_guard_status('ACTIVE>RETIRED', 'ACTIVE>REVOKED', 'RETIRED>REVOKED');
CREATE TRIGGER signing_keys_in_use BEFORE UPDATE OF status ON signing_keys
FOR EACH ROW WHEN (OLD.status = 'ACTIVE' AND NEW.status = 'RETIRED') EXECUTE FUNCTION bpc_guard_key_in_use();
CREATE TRIGGER signing_keys_stay BEFORE DELETE ON signing_keys
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('receipts name them');
CREATE TRIGGER passport_versions_keep_bytes
BEFORE UPDATE OF passport_version_id, tenant_id, passport_id, snapshot_id, rule_package_version_id, compiler_build_id,
  law_date, issued_at, payload, proof, receipt, payload_hash, proof_root_hash, unique_identifier, status_list,
  status_idx, fields, disclosures, receipt_hash, disclosure_seed, signing_key_id, created_at
ON passport_versions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('what was compiled never changes');
CREATE TRIGGER passport_versions_sign_once BEFORE UPDATE OF signature, view_signature, public_key ON passport_versions
FOR EACH ROW WHEN (OLD.signature IS NOT NULL)
EXECUTE FUNCTION bpc_refuse_change('it is signed');
CREATE TRIGGER passport_versions_sign_with_an_active_key BEFORE UPDATE OF signature ON passport_versions
FOR EACH ROW WHEN (OLD.signature IS NULL AND NEW.signature IS NOT NULL) EXECUTE FUNCTION bpc_guard_signature();
CREATE TRIGGER passport_versions_one_qr BEFORE UPDATE OF qr_payload, qr_png ON passport_versions
FOR EACH ROW WHEN (OLD.qr_payload IS NOT NULL)
EXECUTE FUNCTION bpc_refuse_change('it has its code');
CREATE TRIGGER passport_versions_status BEFORE UPDATE OF status ON passport_versions
FOR EACH ROW EXECUTE FUNCTION bpc_guard_status('COMPILING>SIGNED', 'SIGNED>ACTIVE', 'ACTIVE>SUPERSEDED',
  'SIGNED>REVOKED', 'ACTIVE>REVOKED', 'SUPERSEDED>REVOKED');
-- A passport that is signed or in force stays, whoever wants it gone.
CREATE TRIGGER passport_versions_stay BEFORE DELETE ON passport_versions
FOR EACH ROW WHEN (OLD.status IN ('SIGNED', 'ACTIVE'))
EXECUTE FUNCTION bpc_refuse_change('a passport that is signed or in force is never removed');
CREATE TRIGGER passport_versions_leave_by_retention BEFORE DELETE ON passport_versions
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes passports');
CREATE TRIGGER passport_versions_begin BEFORE INSERT ON passport_versions
FOR EACH ROW EXECUTE FUNCTION bpc_guard_new_passport_version();

-- Everything of a version but the seed of its salts: with that, withheld fields could be guessed.
GRANT SELECT (passport_version_id, tenant_id, passport_id, snapshot_id, rule_package_version_id, compiler_build_id,
  law_date, issued_at, status, payload, proof, receipt, payload_hash, proof_root_hash, unique_identifier, status_list,
  status_idx, fields, disclosures, receipt_hash, signing_key_id, signature, view_signature, public_key, qr_payload,
  qr_png, created_at) ON passport_versions
TO bpc_operator, bpc_reader;

GRANT INSERT ON rule_tests_runs, passport_versions TO bpc_worker;
GRANT UPDATE (status) ON rule_package_versions TO bpc_worker;
GRANT UPDATE (status, signature, view_signature, public_key, qr_payload, qr_png) ON passport_versions TO bpc_worker;
GRANT UPDATE (state, snapshot_id, passport_version_id, errors, finished_at) ON passport_builds TO bpc_worker;
GRANT UPDATE (document_version_id) ON passport_build_documents TO bpc_worker;

GRANT INSERT ON rule_packages, battery_products, passports, passport_builds, passport_build_documents TO bpc_app;
-- Not the status: rules are tested before they are published, whoever adds them, and a run of tests is a worker's to write.
GRANT INSERT (rule_package_version_id, tenant_id, rule_package_id, version, dsl, dsl_sha256, tests_sha256)
  ON rule_package_versions TO bpc_app;
GRANT INSERT (tenant_id, key_id, public_key, purposes) ON signing_keys TO bpc_app;
GRANT UPDATE (status) ON rule_package_versions, passport_versions, signing_keys TO bpc_app;
GRANT UPDATE (state, snapshot_id, passport_version_id, errors, finished_at) ON passport_builds TO bpc_app;
GRANT UPDATE (kind, mime_type, number_format, mapping, sha256, sent, document_version_id)
  ON passport_build_documents TO bpc_app;
