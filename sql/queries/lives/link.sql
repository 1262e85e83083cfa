-- The passports that a passport follows.
INSERT INTO passport_predecessors (passport_id, predecessor_id, tenant_id)
SELECT %(passport_id)s, n.predecessor_id, %(tenant_id)s FROM unnest(%(predecessors)s::uuid[]) AS n (predecessor_id)
