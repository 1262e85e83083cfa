-- Every trigger, and whether it fires: state, and how to make it so.
WITH triggers AS (
  SELECT c.relname, t.tgname, t.tgenabled, pg_get_triggerdef(t.oid) AS definition
  FROM pg_trigger AS t
  JOIN pg_class AS c ON c.oid = t.tgrelid
  WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
)
SELECT 'trigger' AS kind, relname || '.' || tgname AS name, relname AS part_of, definition AS state, definition AS make,
       NULL AS change,
       format('DROP TRIGGER %I ON public.%I', tgname, relname) AS unmake
FROM triggers
UNION ALL
SELECT 'trigger that fires', relname || '.' || tgname, relname,
       CASE tgenabled WHEN 'O' THEN 'fires' WHEN 'D' THEN 'disabled' ELSE 'fires for replicas or always' END,
       NULL, format('ALTER TABLE public.%I ENABLE TRIGGER %I', relname, tgname), NULL
FROM triggers
