-- What our login may do by itself, and through the roles it is a member of.
SELECT r.rolname::text AS login, r.rolsuper, r.rolbypassrls, r.rolinherit, r.rolconnlimit,
       (SELECT coalesce(array_agg(o.rolname::text), '{}') FROM pg_roles AS o
        WHERE o.rolname IN ('bpc_owner', 'bpc_worker', 'pg_write_all_data', 'pg_read_all_stats', 'pg_monitor')
          AND pg_has_role(r.oid, o.oid, 'USAGE')) AS uses,
       (SELECT coalesce(array_agg(o.rolname::text), '{}') FROM pg_roles AS o
        WHERE o.rolname IN ('bpc_owner', 'bpc_worker', 'bpc_operator', 'bpc_reader', 'bpc_producer', 'bpc_app')
          AND pg_has_role(r.oid, o.oid, 'MEMBER')) AS member_of,
       (SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname), '{}') FROM pg_class AS c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relowner = r.oid
          AND c.relname <> 'schema_migrations') AS owns,
       EXISTS (SELECT FROM pg_roles AS o WHERE o.rolname = 'bpc_worker') AS has_roles
FROM pg_roles AS r
WHERE r.rolname = current_user
