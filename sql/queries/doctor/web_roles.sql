-- The roles that bpc_web has to be able to become: whether it may, and whether it has their rights without. Not before the
-- migration that makes bpc_public.
SELECT o.rolname::text AS role, pg_has_role(web.oid, o.oid, 'MEMBER') AS may_become,
       pg_has_role(web.oid, o.oid, 'USAGE') AS inherits
FROM pg_roles AS web JOIN pg_roles AS o ON o.rolname IN ('bpc_reader', 'bpc_operator', 'bpc_app')
WHERE web.rolname = 'bpc_web' AND EXISTS (SELECT FROM pg_roles AS made WHERE made.rolname = 'bpc_public')
ORDER BY 1
