-- What changes goes into the tables of the public door in the transaction that changes it, whoever does.

CREATE OR REPLACE FUNCTION bpc_publish_status() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  UPDATE public_passports AS p
  SET status = NEW.status,
      activated_at = CASE NEW.status WHEN 'ACTIVE' THEN now() ELSE p.activated_at END,
      superseded_at = CASE NEW.status WHEN 'SUPERSEDED' THEN now() ELSE p.superseded_at END,
      revoked_at = CASE NEW.status WHEN 'REVOKED' THEN now() ELSE p.revoked_at END
  WHERE p.tenant_id = NEW.tenant_id AND p.passport_version_id = NEW.passport_version_id;
  IF NEW.status = 'ACTIVE' THEN
    -- It took the place of the one before it, and of those of the battery's former life.
    UPDATE public_passports AS p SET superseded_by = NEW.passport_version_id
    WHERE p.tenant_id = NEW.tenant_id AND p.status = 'SUPERSEDED' AND p.superseded_by IS NULL
      AND p.passport_id IN (
        SELECT NEW.passport_id
        UNION ALL
        SELECT r.predecessor_id FROM passport_predecessors AS r
        WHERE r.tenant_id = NEW.tenant_id AND r.passport_id = NEW.passport_id);
    PERFORM bpc_publish_beside(NEW.tenant_id, NEW.passport_version_id);
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION bpc_publish_end() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  UPDATE public_passports SET recycled_at = NEW.created_at
  WHERE tenant_id = NEW.tenant_id AND passport_id = NEW.passport_id;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION bpc_publish_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  INSERT INTO public_keys (tenant_id, key_id, public_key, status, purposes)
  VALUES (NEW.tenant_id, NEW.key_id, NEW.public_key, NEW.status, NEW.purposes)
  ON CONFLICT (tenant_id, key_id) DO UPDATE SET status = EXCLUDED.status;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION bpc_publish_host() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  INSERT INTO public_hosts (host, tenant_id) VALUES (NEW.host, NEW.tenant_id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION bpc_publish_product() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  UPDATE public_models AS m
  SET name = NEW.name, model_identifier = NEW.model_identifier, operator = o.name, operator_web = o.web
  FROM (SELECT NEW.operator_id AS operator_id) AS n
  LEFT JOIN operators AS o ON o.tenant_id = NEW.tenant_id AND o.operator_id = n.operator_id
  WHERE m.tenant_id = NEW.tenant_id AND m.battery_product_id = NEW.battery_product_id;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION bpc_publish_operator() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  UPDATE public_models AS m SET operator = NEW.name, operator_web = NEW.web
  FROM battery_products AS b
  WHERE b.tenant_id = NEW.tenant_id AND b.operator_id = NEW.operator_id
    AND m.tenant_id = b.tenant_id AND m.battery_product_id = b.battery_product_id;
  RETURN NULL;
END
$$;

-- The bytes of an attachment go with the last version that names them.
CREATE OR REPLACE FUNCTION bpc_forget_content() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  DELETE FROM public_contents AS c
  WHERE c.tenant_id = OLD.tenant_id AND c.sha256 = OLD.sha256 AND NOT EXISTS (
    SELECT FROM public_attachments AS a WHERE a.tenant_id = OLD.tenant_id AND a.sha256 = OLD.sha256);
  RETURN NULL;
END
$$;

-- Tells those who keep answers what they have to forget: an address, or without an argument everything. Nobody has kept
-- anything of a version that was not in force yet.
CREATE OR REPLACE FUNCTION bpc_tell_public() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  CASE TG_ARGV[0]
    WHEN 'unique_identifier' THEN
      IF TG_OP <> 'INSERT' AND OLD.activated_at IS NOT NULL OR TG_OP <> 'DELETE' AND NEW.activated_at IS NOT NULL THEN
        PERFORM pg_notify('bpc_public', coalesce(NEW.unique_identifier, OLD.unique_identifier));
      END IF;
    WHEN 'status_list' THEN
      PERFORM pg_notify('bpc_public', NEW.issuer || '/status/' || NEW.status_list);
    ELSE
      PERFORM pg_notify('bpc_public', '');
  END CASE;
  RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_publish_status, bpc_publish_end, bpc_publish_key, bpc_publish_host, bpc_publish_product,
  bpc_publish_operator, bpc_forget_content, bpc_tell_public FROM PUBLIC;
