-- Every view of the schema, and who owns it: whatever it shows, it reads with its owner's rights.
SELECT v.kind, v.name, v.name AS part_of, v.state, v.make, v.make AS change, NULL AS unmake
FROM (
  SELECT 'view' AS kind, c.relname AS name, made.text AS state, made.text AS make
  FROM pg_class AS c
  CROSS JOIN LATERAL (
    SELECT format('CREATE OR REPLACE VIEW public.%I WITH (%s) AS %s', c.relname,
                  coalesce(array_to_string(c.reloptions, ', '), 'security_barrier=false'),
                  replace(rtrim(btrim(pg_get_viewdef(c.oid)), chr(59)), coalesce(sole.relname || '.', ''), '')) AS text
    FROM (SELECT) AS one LEFT JOIN (  -- of a single table, whose name PostgreSQL 15 says before each column, and later ones do not
      SELECT min(t.relname) AS relname
      FROM pg_rewrite AS r
      JOIN pg_depend AS d ON (d.classid, d.objid, d.deptype) = ('pg_rewrite'::regclass, r.oid, 'n')
      JOIN pg_class AS t ON d.refclassid = 'pg_class'::regclass AND t.oid = d.refobjid
      WHERE r.ev_class = c.oid AND t.oid <> c.oid
      HAVING count(DISTINCT t.oid) = 1
    ) AS sole ON true
  ) AS made
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'v'
  UNION ALL
  SELECT 'view owner', c.relname, pg_get_userbyid(c.relowner)::text,
         format('ALTER VIEW public.%I OWNER TO %I', c.relname, pg_get_userbyid(c.relowner))
  FROM pg_class AS c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'v'
) AS v
