-- What the public door shows beside the passport itself.

-- The attachments that are for everybody by what was said of them, and by the rules, since the view names them.
CREATE OR REPLACE FUNCTION bpc_publish_attachments(of_tenant uuid, of_version uuid, of_snapshot uuid, shown text)
RETURNS void
LANGUAGE sql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  INSERT INTO public_attachments (passport_version_id, tenant_id, sha256, kind, media_type, size, language, title)
  SELECT DISTINCT ON (f.payload ->> 'sha256') of_version, of_tenant, decode(f.payload ->> 'sha256', 'hex'),
         f.payload ->> 'kind', f.payload ->> 'media_type', (f.payload ->> 'size')::bigint, f.payload ->> 'language',
         f.payload ->> 'title'
  FROM data_snapshots AS s
  JOIN snapshot_items AS i ON i.tenant_id = s.tenant_id AND i.snapshot_id IN (s.snapshot_id, s.model_snapshot_id)
  JOIN facts AS f ON f.tenant_id = i.tenant_id AND f.fact_id = i.fact_id
  WHERE s.tenant_id = of_tenant AND s.snapshot_id = of_snapshot AND f.fact_type = 'Attachment'
    AND f.payload ->> 'audience' = 'public' AND f.payload ->> 'sha256' ~ '^[0-9a-f]{64}$'
    AND position(f.payload ->> 'sha256' IN shown) > 0
  ORDER BY f.payload ->> 'sha256', f.fact_key
  ON CONFLICT DO NOTHING
$$;

-- What is there as soon as a version has been in force: its model, and the bytes of its attachments.
CREATE OR REPLACE FUNCTION bpc_publish_beside(of_tenant uuid, of_version uuid) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  INSERT INTO public_models AS m (tenant_id, host, gtin, battery_product_id, name, model_identifier, operator, operator_web)
  SELECT p.tenant_id, p.host, substring(p.unique_identifier FROM '/01/([0-9]{14})/'), b.battery_product_id, b.name,
         b.model_identifier, o.name, o.web
  FROM public_passports AS p
  JOIN passports USING (tenant_id, passport_id)
  JOIN battery_products AS b USING (tenant_id, battery_product_id)
  LEFT JOIN operators AS o USING (tenant_id, operator_id)
  WHERE p.tenant_id = of_tenant AND p.passport_version_id = of_version AND p.activated_at IS NOT NULL
    AND p.unique_identifier ~ '/01/[0-9]{14}/'
  ON CONFLICT DO NOTHING;
  INSERT INTO public_contents (tenant_id, sha256, content)
  SELECT a.tenant_id, a.sha256, b.content
  FROM public_attachments AS a
  JOIN public_passports AS p USING (tenant_id, passport_version_id)
  JOIN blobs AS b USING (tenant_id, sha256)
  WHERE a.tenant_id = of_tenant AND a.passport_version_id = of_version AND p.activated_at IS NOT NULL
  ON CONFLICT DO NOTHING
$$;

REVOKE EXECUTE ON FUNCTION bpc_publish_attachments, bpc_publish_beside FROM PUBLIC;
