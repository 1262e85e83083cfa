-- What everybody and our own roles may do with tables, views, columns, functions and the schema; owners may anyway.
WITH granted AS (
  SELECT c.relname::text AS part_of, format('TABLE public.%I', c.relname) AS thing, NULL AS attname, g.*
  FROM pg_class AS c
  CROSS JOIN LATERAL aclexplode(c.relacl) AS g
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND g.grantee <> c.relowner
  UNION ALL
  SELECT c.relname::text, format('TABLE public.%I', c.relname), a.attname, g.*
  FROM pg_class AS c
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
  CROSS JOIN LATERAL aclexplode(a.attacl) AS g
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND g.grantee <> c.relowner
  UNION ALL
  SELECT p.oid::regprocedure::text, 'FUNCTION public.' || p.oid::regprocedure::text, NULL, g.*
  FROM pg_proc AS p
  CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g
  WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND g.grantee <> p.proowner
  UNION ALL
  SELECT 'schema public', 'SCHEMA public', NULL, g.*
  FROM pg_namespace AS n
  CROSS JOIN LATERAL aclexplode(n.nspacl) AS g
  WHERE n.nspname = 'public' AND g.grantee <> 0
), named AS (
  SELECT part_of, thing, is_grantable,
         privilege_type || CASE WHEN attname IS NULL THEN '' ELSE format(' (%I)', attname) END AS privilege,
         CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
  FROM granted
)
SELECT 'grant' AS kind, format('%s ON %s TO %s', privilege, thing, grantee) AS name, part_of,
       CASE WHEN bool_or(is_grantable) THEN 'with grant option' ELSE 'granted' END AS state,
       format('GRANT %s ON %s TO %s', privilege, thing, grantee) AS make,
       format('REVOKE GRANT OPTION FOR %s ON %s FROM %s', privilege, thing, grantee) AS change,
       format('REVOKE %s ON %s FROM %s', privilege, thing, grantee) AS unmake
FROM named
WHERE grantee IN ('PUBLIC', 'bpc_owner', 'bpc_worker', 'bpc_producer', 'bpc_operator', 'bpc_reader', 'bpc_app',
                  'bpc_web', 'bpc_public')
GROUP BY privilege, thing, grantee, part_of
