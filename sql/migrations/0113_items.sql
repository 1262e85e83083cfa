-- Models whose facts are sealed once, what documents tell of single batteries, and the lives of batteries.
-- Former release: keeps working.
-- Functions first: guards, tenants, lives

-- A snapshot of one battery has its own facts; those of its model are in the model's snapshot.
ALTER TABLE data_snapshots
  ADD COLUMN passport_id uuid,
  ADD COLUMN model_snapshot_id uuid,
  ADD FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id),
  ADD FOREIGN KEY (tenant_id, model_snapshot_id) REFERENCES data_snapshots (tenant_id, snapshot_id),
  ADD CONSTRAINT data_snapshots_model_is_of_a_battery CHECK (model_snapshot_id IS NULL OR passport_id IS NOT NULL);
CREATE INDEX data_snapshots_passport ON data_snapshots (passport_id, snapshot_id) WHERE passport_id IS NOT NULL;
CREATE INDEX data_snapshots_model ON data_snapshots (model_snapshot_id) WHERE model_snapshot_id IS NOT NULL;

-- The sealed snapshots that were a product's model; the newest is for the versions that are made now.
CREATE TABLE product_models (
  snapshot_id        uuid PRIMARY KEY,
  tenant_id          uuid NOT NULL,
  battery_product_id uuid NOT NULL,
  created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  FOREIGN KEY (tenant_id, snapshot_id) REFERENCES data_snapshots (tenant_id, snapshot_id),
  FOREIGN KEY (tenant_id, battery_product_id) REFERENCES battery_products (tenant_id, battery_product_id)
);
CREATE INDEX product_models_newest ON product_models (battery_product_id, created_at);

-- The battery that a row of a document is about, as the document names it.
ALTER TABLE fact_sources ADD COLUMN item text CHECK (length(item) BETWEEN 1 AND 200);
CREATE INDEX fact_sources_item ON fact_sources (document_version_id, item) WHERE item IS NOT NULL;

-- A battery takes from a document the rows with its serial; all facts of one that has no such rows.
CREATE TABLE passport_documents (
  passport_id         uuid NOT NULL,
  document_version_id uuid NOT NULL,
  tenant_id           uuid NOT NULL,
  taken_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (passport_id, document_version_id),
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id),
  FOREIGN KEY (tenant_id, document_version_id) REFERENCES document_versions (tenant_id, document_version_id)
);
CREATE INDEX passport_documents_version ON passport_documents (document_version_id);

-- What became of a battery, in order; without a row it is what its documents say. Who answers for it from then on.
CREATE TABLE passport_lives (
  passport_life_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id        uuid NOT NULL,
  passport_id      uuid NOT NULL,
  status           text NOT NULL CHECK (status IN ('re-used', 'repurposed', 'remanufactured', 'waste', 'recycled')),
  operator_id      uuid,
  reason           text NOT NULL CHECK (length(reason) BETWEEN 1 AND 1000),
  created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id),
  FOREIGN KEY (tenant_id, operator_id) REFERENCES operators (tenant_id, operator_id)
);
CREATE INDEX passport_lives_passport ON passport_lives (passport_id, created_at);

-- A passport of another life and those it follows: one or several, as several batteries may become one.
CREATE TABLE passport_predecessors (
  passport_id    uuid NOT NULL,
  predecessor_id uuid NOT NULL,
  tenant_id      uuid NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (passport_id, predecessor_id),
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id),
  FOREIGN KEY (tenant_id, predecessor_id) REFERENCES passports (tenant_id, passport_id),
  CONSTRAINT passport_predecessors_another CHECK (passport_id <> predecessor_id)
);
CREATE INDEX passport_predecessors_of ON passport_predecessors (predecessor_id);

CREATE TRIGGER data_snapshots_keep_battery
BEFORE UPDATE OF snapshot_id, tenant_id, passport_id, model_snapshot_id, created_at ON data_snapshots
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('make another snapshot');
CREATE TRIGGER product_models_stay BEFORE UPDATE OR DELETE ON product_models
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('seal another model: the newest counts');
CREATE TRIGGER passport_documents_stay BEFORE UPDATE OR DELETE ON passport_documents
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('what was told of a battery stays: send what counts instead');
CREATE TRIGGER passport_lives_stay BEFORE UPDATE OR DELETE ON passport_lives
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('what became of a battery stays');
CREATE TRIGGER passport_predecessors_stay BEFORE UPDATE OR DELETE ON passport_predecessors
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('passports name them');
CREATE TRIGGER passport_lives_end BEFORE INSERT ON passport_lives
FOR EACH ROW EXECUTE FUNCTION bpc_guard_life();
CREATE TRIGGER passport_versions_of_the_living BEFORE INSERT OR UPDATE OF status ON passport_versions
FOR EACH ROW WHEN (NEW.status IN ('COMPILING', 'ACTIVE')) EXECUTE FUNCTION bpc_guard_life();
CREATE TRIGGER passport_versions_one_life BEFORE UPDATE OF status ON passport_versions
FOR EACH ROW WHEN (OLD.status <> 'ACTIVE' AND NEW.status = 'ACTIVE') EXECUTE FUNCTION bpc_guard_followed();

DO $$
DECLARE
  domain_table text;
BEGIN
  FOREACH domain_table IN ARRAY ARRAY['product_models', 'passport_documents', 'passport_lives', 'passport_predecessors']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', domain_table);
    EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant_id = bpc_tenant())', domain_table);
    EXECUTE format('GRANT SELECT ON %I TO bpc_worker, bpc_app, bpc_operator, bpc_reader', domain_table);
  END LOOP;
END
$$;

GRANT INSERT (passport_id, model_snapshot_id) ON data_snapshots TO bpc_worker;
GRANT INSERT (snapshot_id, tenant_id, battery_product_id) ON product_models TO bpc_worker;
GRANT INSERT (passport_id, document_version_id, tenant_id) ON passport_documents TO bpc_app;
GRANT INSERT (tenant_id, passport_id, status, operator_id, reason) ON passport_lives TO bpc_app;
GRANT INSERT (passport_id, predecessor_id, tenant_id) ON passport_predecessors TO bpc_app;
