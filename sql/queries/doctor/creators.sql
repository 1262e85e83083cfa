-- Who besides its owner, the owner of our tables and superusers may create objects in the schema.
SELECT CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS grantee
FROM pg_namespace AS n
CROSS JOIN LATERAL aclexplode(n.nspacl) AS g
LEFT JOIN pg_roles AS r ON r.oid = g.grantee
WHERE n.nspname = 'public' AND g.privilege_type = 'CREATE' AND g.grantee <> n.nspowner
  AND coalesce(r.rolname, '') <> 'bpc_owner' AND NOT coalesce(r.rolsuper, false)
ORDER BY 1
