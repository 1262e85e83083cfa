-- What a version's view for everybody says goes into the tables of the public door by these functions alone.

CREATE OR REPLACE FUNCTION bpc_base64url(data bytea) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN rtrim(translate(encode(data, 'base64'), E'+/\n', '-_'), '=');

CREATE OR REPLACE FUNCTION bpc_from_base64url(written text) RETURNS bytea
LANGUAGE sql IMMUTABLE
RETURN decode(translate(written, '-_', '+/') || repeat('=', (4 - length(written) % 4) % 4), 'base64');

-- Refuses a text that is not the version's own, or that shows a field which is not for the public, or not all that are:
-- whoever cut it. What it shows, in one text.
CREATE OR REPLACE FUNCTION bpc_check_public_view(view text, fields jsonb, signature bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  parts CONSTANT text[] := string_to_array(view, '~');
  signed CONSTANT text[] := string_to_array(parts[1], '.');
  own text[];
  around text[];
  inner_digests text[];
BEGIN
  own := ARRAY(SELECT convert_from(bpc_from_base64url(d), 'UTF8')
               FROM unnest(parts[2:cardinality(parts) - 1]) AS d);
  around := ARRAY(
    SELECT d.text FROM unnest(parts[2:cardinality(parts) - 1], own) AS d (written, text)
    JOIN jsonb_array_elements(fields) AS s
      ON s -> 'audiences' ? 'public' AND s -> '_sd' ->> 0 = bpc_base64url(sha256(convert_to(d.written, 'UTF8'))));
  inner_digests := ARRAY(SELECT jsonb_array_elements_text(a::jsonb -> 2 -> '_sd') FROM unnest(around) AS a);
  IF parts[cardinality(parts)] <> '' OR signed[3] IS DISTINCT FROM bpc_base64url(signature)
     OR convert_from(bpc_from_base64url(signed[2]), 'UTF8')::jsonb -> 'fields' IS DISTINCT FROM fields
     OR cardinality(around) <> (SELECT count(*) FROM jsonb_array_elements(fields) AS s WHERE s -> 'audiences' ? 'public')
     OR ARRAY(SELECT bpc_base64url(sha256(convert_to(d, 'UTF8'))) AS digest
              FROM unnest(parts[2:cardinality(parts) - 1], own) AS w (d, text)
              WHERE NOT text = ANY (around) ORDER BY digest)
        IS DISTINCT FROM ARRAY(SELECT d FROM unnest(inner_digests) AS d ORDER BY d) THEN
    RAISE EXCEPTION 'it is refused: it is not what the public may see of the version'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN array_to_string(own, E'\n');
END
$$;

-- A signed version of the tenant, with its view for everybody; whether there is such a version. Published again, its dates
-- are as the audit trail has them.
CREATE OR REPLACE FUNCTION bpc_publish(of_version uuid, public_view text, operator text, made_at text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  version record;
  shown text;
BEGIN
  SELECT v.tenant_id, v.passport_id, v.snapshot_id, v.unique_identifier, v.status, v.issued_at, v.law_date, v.fields,
         v.view_signature, p.granularity, b.name AS product, substring(v.unique_identifier FROM '^https://([^/]+)/') AS host
  INTO version
  FROM passport_versions AS v
  JOIN passports AS p USING (tenant_id, passport_id)
  JOIN battery_products AS b USING (tenant_id, battery_product_id)
  WHERE v.tenant_id = bpc_tenant() AND v.passport_version_id = of_version AND v.status <> 'COMPILING'
  FOR SHARE OF v;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  shown := bpc_check_public_view(public_view, convert_from(version.fields, 'UTF8')::jsonb, version.view_signature);
  INSERT INTO public_hosts (host, tenant_id) VALUES (version.host, version.tenant_id) ON CONFLICT DO NOTHING;
  INSERT INTO public_passports AS t (
    passport_version_id, tenant_id, passport_id, unique_identifier, host, granularity, product, status, issued_at, law_date,
    activated_at, superseded_at, superseded_by, revoked_at, recycled_at, economic_operator, facility, view)
  SELECT of_version, version.tenant_id, version.passport_id, version.unique_identifier, version.host, version.granularity, version.product,
         version.status, version.issued_at, version.law_date,
         coalesce(told.activated_at, CASE version.status WHEN 'ACTIVE' THEN now() END), told.superseded_at,
         told.superseded_by::uuid, told.revoked_at,
         (SELECT min(l.created_at) FROM passport_lives AS l
          WHERE l.tenant_id = version.tenant_id AND l.passport_id = version.passport_id AND l.status = 'recycled'),
         operator, made_at, public_view
  FROM (SELECT min(e.occurred_at) FILTER (WHERE e.event_type = 'PASSPORT_ACTIVATED') AS activated_at,
               min(e.occurred_at) FILTER (WHERE e.event_type IN ('PASSPORT_SUPERSEDED', 'PASSPORT_ENDED')) AS superseded_at,
               min(e.payload ->> 'superseded_by') AS superseded_by,
               min(e.occurred_at) FILTER (WHERE e.event_type = 'PASSPORT_REVOKED') AS revoked_at
        FROM events AS e
        WHERE e.tenant_id = version.tenant_id AND e.aggregate_type = 'passport' AND e.aggregate_id = version.passport_id
          AND e.payload ->> 'passport_version_id' = of_version::text) AS told
  ON CONFLICT (passport_version_id) DO UPDATE
  SET status = EXCLUDED.status, view = EXCLUDED.view, economic_operator = EXCLUDED.economic_operator,
      facility = EXCLUDED.facility, activated_at = coalesce(t.activated_at, EXCLUDED.activated_at),
      superseded_at = coalesce(t.superseded_at, EXCLUDED.superseded_at),
      superseded_by = coalesce(t.superseded_by, EXCLUDED.superseded_by),
      revoked_at = coalesce(t.revoked_at, EXCLUDED.revoked_at),
      recycled_at = coalesce(t.recycled_at, EXCLUDED.recycled_at);
  PERFORM bpc_publish_attachments(version.tenant_id, of_version, version.snapshot_id, shown);
  IF version.status <> 'SIGNED' THEN
    PERFORM bpc_publish_beside(version.tenant_id, of_version);
  END IF;
  RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_base64url, bpc_from_base64url, bpc_check_public_view, bpc_publish FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_publish TO bpc_worker, bpc_app;
