-- How many leaves a tenant has, how many there must be by the last one's number, and the first that is missing.
SELECT counted.leaves, counted.size,
       CASE WHEN counted.leaves < counted.size THEN (
         SELECT min(before.leaf_index) + 1
         FROM (SELECT -1::bigint AS leaf_index UNION ALL
               SELECT leaf_index FROM event_leaves WHERE tenant_id = %(tenant_id)s) AS before
         WHERE NOT EXISTS (
           SELECT FROM event_leaves WHERE tenant_id = %(tenant_id)s AND leaf_index = before.leaf_index + 1)
       ) END AS missing
FROM (
  SELECT count(*) AS leaves, coalesce(max(leaf_index) + 1, 0) AS size
  FROM event_leaves WHERE tenant_id = %(tenant_id)s
) AS counted
