-- What the public door shows, and all it can read: views that were cut for everybody, of versions that were in force once.
-- Former release: must stop.
-- Functions first: tenants, status_lists, public_door, public_beside, public_changes

-- The hosts of identifiers, and the tenants whose passports stand under them: one, but for the stand-in of development.
CREATE TABLE public_hosts (
  host      text NOT NULL,
  tenant_id uuid NOT NULL REFERENCES tenants,
  PRIMARY KEY (host, tenant_id)
);

CREATE TABLE public_keys (
  tenant_id  uuid NOT NULL REFERENCES tenants,
  key_id     text NOT NULL,
  public_key bytea NOT NULL,
  status     text NOT NULL,
  purposes   text[] NOT NULL,
  PRIMARY KEY (tenant_id, key_id)
);

-- A model of which a battery's passport was in force once: for whoever asks for a serial that has none.
CREATE TABLE public_models (
  tenant_id          uuid NOT NULL,
  host               text NOT NULL,
  gtin               text NOT NULL,
  battery_product_id uuid NOT NULL,
  name               text NOT NULL,
  model_identifier   text,
  operator           text,
  operator_web       text,
  PRIMARY KEY (host, gtin, tenant_id),
  FOREIGN KEY (tenant_id, battery_product_id) REFERENCES battery_products (tenant_id, battery_product_id)
);
CREATE INDEX public_models_product ON public_models (battery_product_id);

-- Signed versions with the view that is for everybody. `activated_at`: since when it was in force; without it the door does
-- not see the row. It goes with its version, when retention removes that.
CREATE TABLE public_passports (
  passport_version_id uuid PRIMARY KEY,
  tenant_id           uuid NOT NULL,
  passport_id         uuid NOT NULL,
  unique_identifier   text NOT NULL,
  host                text NOT NULL,
  granularity         text NOT NULL,
  product             text NOT NULL,  -- what its maker called it when it was signed
  status              text NOT NULL CHECK (status IN ('SIGNED', 'ACTIVE', 'SUPERSEDED', 'REVOKED')),
  issued_at           timestamptz NOT NULL,
  law_date            date NOT NULL,
  activated_at        timestamptz,
  superseded_at       timestamptz,
  superseded_by       uuid,         -- a version, perhaps of the battery's next life
  revoked_at          timestamptz,
  recycled_at         timestamptz,  -- of the battery
  economic_operator   text,         -- SCHEME:value, as the JSON after EN 18223 says it
  facility            text,
  view                text NOT NULL,
  UNIQUE (tenant_id, passport_version_id),
  FOREIGN KEY (tenant_id, passport_version_id)
    REFERENCES passport_versions (tenant_id, passport_version_id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, passport_id) REFERENCES passports (tenant_id, passport_id)
);
CREATE INDEX public_passports_identifier ON public_passports (unique_identifier, activated_at);
CREATE INDEX public_passports_passport ON public_passports (passport_id);

-- The attachments that such a view names, and their bytes, as soon as one of the versions has been in force.
CREATE TABLE public_attachments (
  passport_version_id uuid NOT NULL,
  tenant_id           uuid NOT NULL,
  sha256              bytea NOT NULL,
  kind                text NOT NULL,
  media_type          text NOT NULL,
  size                bigint NOT NULL,
  language            text,
  title               text,
  PRIMARY KEY (passport_version_id, sha256),
  FOREIGN KEY (tenant_id, passport_version_id)
    REFERENCES public_passports (tenant_id, passport_version_id) ON DELETE CASCADE
);
CREATE INDEX public_attachments_content ON public_attachments (tenant_id, sha256);

CREATE TABLE public_contents (
  tenant_id uuid NOT NULL REFERENCES tenants,
  sha256    bytea NOT NULL,
  content   bytea NOT NULL,
  PRIMARY KEY (tenant_id, sha256)
);

INSERT INTO public_hosts (host, tenant_id) SELECT host, tenant_id FROM id_hosts;
INSERT INTO public_keys (tenant_id, key_id, public_key, status, purposes)
SELECT tenant_id, key_id, public_key, status, purposes FROM signing_keys;

CREATE TRIGGER passport_versions_publish_status AFTER UPDATE OF status ON passport_versions
FOR EACH ROW WHEN (OLD.status <> NEW.status AND NEW.status <> 'SIGNED') EXECUTE FUNCTION bpc_publish_status();
CREATE TRIGGER passport_lives_publish_end AFTER INSERT ON passport_lives
FOR EACH ROW WHEN (NEW.status = 'recycled') EXECUTE FUNCTION bpc_publish_end();
CREATE TRIGGER signing_keys_publish AFTER INSERT OR UPDATE ON signing_keys
FOR EACH ROW EXECUTE FUNCTION bpc_publish_key();
CREATE TRIGGER id_hosts_publish AFTER INSERT ON id_hosts
FOR EACH ROW EXECUTE FUNCTION bpc_publish_host();
CREATE TRIGGER battery_products_publish AFTER UPDATE OF name, model_identifier, operator_id ON battery_products
FOR EACH ROW EXECUTE FUNCTION bpc_publish_product();
CREATE TRIGGER operators_publish AFTER UPDATE OF name, web ON operators
FOR EACH ROW EXECUTE FUNCTION bpc_publish_operator();
CREATE TRIGGER public_attachments_forget AFTER DELETE ON public_attachments
FOR EACH ROW EXECUTE FUNCTION bpc_forget_content();

CREATE TRIGGER public_passports_tell AFTER INSERT OR UPDATE OR DELETE ON public_passports
FOR EACH ROW EXECUTE FUNCTION bpc_tell_public('unique_identifier');
CREATE TRIGGER status_lists_tell_public AFTER UPDATE OF token ON status_lists
FOR EACH ROW EXECUTE FUNCTION bpc_tell_public('status_list');
CREATE TRIGGER public_hosts_tell AFTER INSERT OR UPDATE OR DELETE ON public_hosts
FOR EACH ROW EXECUTE FUNCTION bpc_tell_public();
CREATE TRIGGER public_keys_tell AFTER INSERT OR UPDATE OR DELETE ON public_keys
FOR EACH ROW EXECUTE FUNCTION bpc_tell_public();
CREATE TRIGGER public_models_tell AFTER INSERT OR UPDATE OR DELETE ON public_models
FOR EACH ROW EXECUTE FUNCTION bpc_tell_public();

DO $$
DECLARE
  public_table text;
BEGIN
  FOREACH public_table IN ARRAY ARRAY['public_hosts', 'public_keys', 'public_models', 'public_passports',
                                      'public_attachments', 'public_contents']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', public_table);
    EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant_id = bpc_tenant())', public_table);
    EXECUTE format('CREATE POLICY all_tenants ON %I FOR SELECT TO bpc_reader USING ((SELECT bpc_tenant()) IS NULL)',
                   public_table);
    EXECUTE format('CREATE POLICY everybody ON %I FOR SELECT TO bpc_public USING (true)', public_table);
    EXECUTE format('GRANT SELECT ON %I TO bpc_worker, bpc_app, bpc_operator, bpc_reader, bpc_public', public_table);
  END LOOP;
END
$$;

-- Whatever else lets the door's login see a row: what was never in force is not there for it.
CREATE POLICY in_force_once ON public_passports AS RESTRICTIVE FOR SELECT TO bpc_public
USING (activated_at IS NOT NULL);
CREATE POLICY in_force_once ON public_attachments AS RESTRICTIVE FOR SELECT TO bpc_public
USING (EXISTS (SELECT FROM public_passports AS p WHERE p.passport_version_id = public_attachments.passport_version_id));

CREATE POLICY everybody ON status_lists FOR SELECT TO bpc_public USING (true);
GRANT SELECT (status_list, issuer, token, token_as_of) ON status_lists TO bpc_public;
