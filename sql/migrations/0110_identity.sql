-- Who makes and answers for batteries, where, and under which hosts their identifiers stand.
-- Former release: keeps working.
-- Functions first: guards, tenants

-- Addresses by language ({"en": "…"}), identifiers by scheme ({"GLN": "…", "LEI": "…"}). These rows may change; what
-- passports tell of them was copied into their snapshots.
CREATE TABLE operators (
  operator_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id   uuid NOT NULL REFERENCES tenants,
  name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  address     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(address) = 'object'),
  contact     text CHECK (length(contact) BETWEEN 1 AND 200),
  web         text CHECK (web ~ '^https?://' AND length(web) <= 200),
  identifiers jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(identifiers) = 'object'),
  created_at  timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, name),
  UNIQUE (tenant_id, operator_id)
);

CREATE TABLE facilities (
  facility_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id   uuid NOT NULL,
  operator_id uuid NOT NULL,
  name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  address     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(address) = 'object'),
  identifiers jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(identifiers) = 'object'),
  created_at  timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, name),
  UNIQUE (tenant_id, facility_id),
  FOREIGN KEY (tenant_id, operator_id) REFERENCES operators (tenant_id, operator_id)
);
CREATE INDEX facilities_operator ON facilities (operator_id);

-- A host belongs to one tenant, for as long as batteries bear its name. New identifiers take the newest.
CREATE TABLE id_hosts (
  host       text PRIMARY KEY CHECK (
    host ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$' AND length(host) <= 100),
  tenant_id  uuid NOT NULL REFERENCES tenants,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX id_hosts_tenant ON id_hosts (tenant_id, created_at);

ALTER TABLE battery_products
  ADD COLUMN operator_id uuid,
  ADD COLUMN facility_id uuid,
  ADD FOREIGN KEY (tenant_id, operator_id) REFERENCES operators (tenant_id, operator_id),
  ADD FOREIGN KEY (tenant_id, facility_id) REFERENCES facilities (tenant_id, facility_id);
CREATE INDEX battery_products_operator ON battery_products (operator_id);
CREATE INDEX battery_products_facility ON battery_products (facility_id);

CREATE TRIGGER operators_keep_id BEFORE UPDATE OF operator_id, tenant_id, created_at ON operators
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('an operator keeps its id');
CREATE TRIGGER operators_stay BEFORE DELETE ON operators
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('products name them');
CREATE TRIGGER facilities_keep_id BEFORE UPDATE OF facility_id, tenant_id, created_at ON facilities
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a facility keeps its id');
CREATE TRIGGER facilities_stay BEFORE DELETE ON facilities
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('products name them');
CREATE TRIGGER id_hosts_stay BEFORE UPDATE OR DELETE ON id_hosts
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('identifiers on batteries name it');
CREATE TRIGGER battery_products_keep_id
BEFORE UPDATE OF battery_product_id, tenant_id, identifier, created_at ON battery_products
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a product keeps its identifier');
CREATE TRIGGER battery_products_stay BEFORE DELETE ON battery_products
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('passports name them');

DO $$
DECLARE
  domain_table text;
BEGIN
  FOREACH domain_table IN ARRAY ARRAY['operators', 'facilities', 'id_hosts']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', domain_table);
    EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant_id = bpc_tenant())', domain_table);
    EXECUTE format('GRANT SELECT ON %I TO bpc_worker, bpc_app, bpc_operator, bpc_reader', domain_table);
  END LOOP;
END
$$;

GRANT INSERT (operator_id, tenant_id, name, address, contact, web, identifiers) ON operators TO bpc_app;
GRANT UPDATE (name, address, contact, web, identifiers) ON operators TO bpc_app;
GRANT INSERT (facility_id, tenant_id, operator_id, name, address, identifiers) ON facilities TO bpc_app;
GRANT UPDATE (operator_id, name, address, identifiers) ON facilities TO bpc_app;
GRANT INSERT (host, tenant_id) ON id_hosts TO bpc_app;
GRANT UPDATE (name, model_identifier, gtin, commodity_code, operator_id, facility_id) ON battery_products TO bpc_app;
