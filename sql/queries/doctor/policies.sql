-- Every policy of row level security: state, and how to make it so.
WITH policies AS (
  SELECT p.tablename AS relname, p.policyname,
         format('CREATE POLICY %I ON public.%I AS %s FOR %s TO %s%s%s', p.policyname, p.tablename, p.permissive, p.cmd,
                array_to_string(p.roles, ', '), ' USING (' || p.qual || ')',
                ' WITH CHECK (' || p.with_check || ')') AS definition
  FROM pg_policies AS p
  WHERE p.schemaname = 'public'
)
SELECT 'policy' AS kind, relname || '.' || policyname AS name, relname AS part_of, definition AS state,
       definition AS make,
       NULL AS change,
       format('DROP POLICY %I ON public.%I', policyname, relname) AS unmake
FROM policies
