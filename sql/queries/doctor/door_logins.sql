-- Logins of the doors, and what else they are: one of bpc_web without SET ROLE, one of bpc_public at all. Not those who may
-- make roles, and so are members of all that they made.
SELECT r.rolname::text AS login, door.rolname::text AS door,
       ARRAY(SELECT o.rolname::text FROM pg_roles AS o
             WHERE o.rolname IN ('bpc_owner', 'bpc_worker', 'bpc_producer', 'bpc_operator', 'bpc_reader', 'bpc_app', 'bpc_web')
               AND o.oid <> door.oid
               AND pg_has_role(r.oid, o.oid, CASE door.rolname WHEN 'bpc_web' THEN 'USAGE' ELSE 'MEMBER' END)
             ORDER BY 1) AS is_too
FROM pg_roles AS r JOIN pg_roles AS door ON door.rolname IN ('bpc_web', 'bpc_public')
WHERE r.rolcanlogin AND NOT r.rolsuper AND NOT r.rolcreaterole AND pg_has_role(r.oid, door.oid, 'MEMBER')
ORDER BY 1, 2
