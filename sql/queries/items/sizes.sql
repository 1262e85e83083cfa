-- Rows, and their bytes without those of indexes, that the batteries of a document have by themselves: what is shared is
-- counted once. What they were compiled to is not among them.
WITH item AS MATERIALIZED (
  SELECT p.passport_id, p.serial FROM passport_documents AS t JOIN passports AS p USING (tenant_id, passport_id)
  WHERE t.tenant_id = %(tenant_id)s AND t.document_version_id = %(document_version_id)s
),
snapshot AS MATERIALIZED (
  SELECT s.snapshot_id FROM data_snapshots AS s JOIN item USING (passport_id)
),
own AS MATERIALIZED (
  SELECT fact_id FROM fact_sources WHERE document_version_id = %(document_version_id)s AND item IS NOT NULL
  UNION
  SELECT i.fact_id FROM snapshot_items AS i JOIN snapshot USING (snapshot_id)
)
SELECT 'passports' AS of, count(*) AS rows, sum(pg_column_size(r.*)) AS bytes
FROM passports AS r JOIN item USING (passport_id)
UNION ALL
SELECT 'passport_documents', count(*), sum(pg_column_size(r.*))
FROM passport_documents AS r JOIN item USING (passport_id)
UNION ALL
SELECT 'fact_sources', count(*), sum(pg_column_size(r.*))
FROM fact_sources AS r WHERE r.document_version_id = %(document_version_id)s AND r.item IS NOT NULL
UNION ALL
SELECT 'facts', count(*), sum(pg_column_size(r.*)) FROM facts AS r JOIN own USING (fact_id)
UNION ALL
SELECT 'data_snapshots', count(*), sum(pg_column_size(r.*)) FROM data_snapshots AS r JOIN snapshot USING (snapshot_id)
UNION ALL
SELECT 'snapshot_items', count(*), sum(pg_column_size(r.*)) FROM snapshot_items AS r JOIN snapshot USING (snapshot_id)
UNION ALL
SELECT 'events', count(*), sum(pg_column_size(r.*))
FROM events AS r JOIN snapshot ON r.aggregate_type = 'snapshot' AND r.aggregate_id = snapshot.snapshot_id
UNION ALL
SELECT 'event_heads', count(*), sum(pg_column_size(r.*))
FROM event_heads AS r JOIN snapshot ON r.aggregate_type = 'snapshot' AND r.aggregate_id = snapshot.snapshot_id
