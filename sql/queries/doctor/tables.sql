-- Every table of the schema, who owns it and whether it has row level security: state, and how to make it so.
SELECT t.kind, t.name, t.name AS part_of, t.state, t.make, t.change, NULL AS unmake
FROM (
  SELECT 'table' AS kind, c.relname AS name, 'table' AS state,
         format('CREATE TABLE public.%I ()', c.relname) AS make, NULL AS change
  FROM pg_class AS c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  UNION ALL
  SELECT 'table owner', c.relname, pg_get_userbyid(c.relowner)::text,
         format('ALTER TABLE public.%I OWNER TO %I', c.relname, pg_get_userbyid(c.relowner)),
         format('ALTER TABLE public.%I OWNER TO %I', c.relname, pg_get_userbyid(c.relowner))
  FROM pg_class AS c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    AND c.relname <> 'schema_migrations'  -- belongs to whoever migrated first
  UNION ALL
  SELECT 'row security', c.relname,
         CASE WHEN c.relrowsecurity THEN 'enabled' ELSE 'disabled' END
           || CASE WHEN c.relforcerowsecurity THEN ', forced' ELSE '' END,
         format('ALTER TABLE public.%I %s ROW LEVEL SECURITY', c.relname,
                CASE WHEN c.relrowsecurity THEN 'ENABLE' ELSE 'DISABLE' END),
         format('ALTER TABLE public.%I %s ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', c.relname,
                CASE WHEN c.relrowsecurity THEN 'ENABLE' ELSE 'DISABLE' END)
  FROM pg_class AS c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
) AS t
