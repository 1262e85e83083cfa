-- Every function and who owns it: state, and how to make it so.
WITH functions AS (
  SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS definition,
         pg_get_userbyid(p.proowner)::text AS owner, has_function_privilege('public', p.oid, 'EXECUTE') AS open,
         encode(sha256(convert_to(
           concat_ws(' | ', pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname, p.provolatile,
                     p.proparallel, CASE WHEN p.prosecdef THEN 'security definer' END,
                     CASE WHEN p.proisstrict THEN 'strict' END, array_to_string(p.proconfig, ', '),
                     coalesce(pg_get_function_sqlbody(p.oid), p.prosrc)), 'UTF8')), 'hex') AS state
  FROM pg_proc AS p
  JOIN pg_language AS l ON l.oid = p.prolang
  WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND l.lanname IN ('sql', 'plpgsql')
)
SELECT 'function' AS kind, name, name AS part_of, state, rtrim(definition, E'\n') AS make,
       rtrim(definition, E'\n') AS change, NULL AS unmake
FROM functions
UNION ALL
SELECT 'function owner', name, name, owner, format('ALTER FUNCTION public.%s OWNER TO %I', name, owner),
       format('ALTER FUNCTION public.%s OWNER TO %I', name, owner), NULL
FROM functions
UNION ALL  -- one that is made anew is everybody's
SELECT 'closed function', name, name, 'closed', format('REVOKE EXECUTE ON FUNCTION public.%s FROM PUBLIC', name),
       NULL, NULL
FROM functions WHERE NOT open
