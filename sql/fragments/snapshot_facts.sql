held AS (
  -- A snapshot's own facts, and those of its model in whose place it has none of its own.
  SELECT i.tenant_id, i.fact_id, s.snapshot_id, s.passport_id, i.snapshot_id = s.snapshot_id AS own
  FROM data_snapshots AS s
  JOIN snapshot_items AS i ON i.tenant_id = s.tenant_id AND i.snapshot_id IN (s.snapshot_id, s.model_snapshot_id)
  JOIN facts AS f ON f.tenant_id = i.tenant_id AND f.fact_id = i.fact_id
  WHERE s.tenant_id = %(tenant_id)s AND s.snapshot_id = %(snapshot_id)s
    AND (i.snapshot_id = s.snapshot_id OR NOT EXISTS (
      SELECT FROM snapshot_items AS mine JOIN facts AS m USING (tenant_id, fact_id)
      WHERE mine.snapshot_id = s.snapshot_id AND m.fact_type = f.fact_type AND m.fact_key = f.fact_key))
)
