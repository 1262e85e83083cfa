-- What the EU registry has confirmed: which version of a passport it knows, and under which registration.
-- Former release: keeps working.
-- Functions first: guards, tenants

-- It outlives the version, which retention may remove: the registration is of the passport.
CREATE TABLE registrations (
  passport_version_id uuid NOT NULL,
  tenant_id           uuid NOT NULL,
  passport_id         uuid NOT NULL,
  registration_id     text NOT NULL CHECK (length(registration_id) BETWEEN 1 AND 200),
  registered_at       timestamptz NOT NULL,
  proof_sha256        bytea NOT NULL CHECK (octet_length(proof_sha256) = 32),  -- of the file that told it
  created_at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (passport_version_id, registration_id),
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id)
);
CREATE INDEX registrations_passport ON registrations (passport_id, registered_at);

CREATE TRIGGER registrations_stay BEFORE UPDATE OR DELETE ON registrations
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('the registry has confirmed it');

ALTER TABLE registrations ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON registrations USING (tenant_id = bpc_tenant());
GRANT SELECT ON registrations TO bpc_worker, bpc_app, bpc_operator, bpc_reader;
GRANT INSERT (passport_version_id, tenant_id, passport_id, registration_id, registered_at, proof_sha256)
  ON registrations TO bpc_app;
