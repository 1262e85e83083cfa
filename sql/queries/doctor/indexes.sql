-- Every index that no constraint made: state, and how to make it so without stopping the writers.
SELECT CASE WHEN x.indisunique THEN 'unique index' ELSE 'index' END AS kind, i.relname AS name, c.relname AS part_of,
       pg_get_indexdef(i.oid) || CASE WHEN x.indisvalid THEN '' ELSE ' (invalid: its making was broken off)' END AS state,
       regexp_replace(pg_get_indexdef(i.oid), '^CREATE (UNIQUE )?INDEX', 'CREATE \1INDEX CONCURRENTLY') AS make,
       NULL AS change,
       format('DROP INDEX CONCURRENTLY public.%I', i.relname) AS unmake
FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid
JOIN pg_class AS c ON c.oid = x.indrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = i.oid AND k.conrelid = c.oid
                    AND k.contype IN ('p', 'u', 'x'))
