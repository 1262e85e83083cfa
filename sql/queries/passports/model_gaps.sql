-- The open points of a model: how many of its batteries lack each in the newest version of their passports, with why
-- one of them does. First row, without a point: how many batteries there are.
WITH newest AS (
  SELECT DISTINCT ON (v.passport_id) convert_from(v.gaps, 'UTF8')::jsonb AS report
  FROM passport_versions AS v
  JOIN passports AS p USING (tenant_id, passport_id)
  JOIN battery_products AS b USING (tenant_id, battery_product_id)
  WHERE v.tenant_id = %(tenant_id)s AND (b.identifier = %(wanted)s OR b.model_identifier = %(wanted)s)
  ORDER BY v.passport_id, v.created_at DESC, v.issued_at DESC, v.passport_version_id
)
SELECT NULL::text AS gap, count(*)::integer AS batteries, 0 AS place, min(report ->> 'law') AS law FROM newest
UNION ALL
SELECT min(gap.found::text), count(*)::integer, min(gap.place)::integer, NULL
FROM newest CROSS JOIN LATERAL jsonb_array_elements(report -> 'gaps') WITH ORDINALITY AS gap (found, place)
WHERE gap.found ->> 'state' IN ('missing', 'unread')
GROUP BY gap.found ->> 'point'
ORDER BY place
