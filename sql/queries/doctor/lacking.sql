-- Which of these privileges our login has neither by itself nor through a role; what does not exist counts as had.
SELECT w.place::integer AS place
FROM unnest(%(privileges)s::text[], %(columns)s::text[], %(things)s::text[])
  WITH ORDINALITY AS w (privilege, attname, thing, place)
WHERE NOT coalesce(
  CASE
    WHEN w.thing LIKE '%%(%%' THEN has_function_privilege(to_regprocedure(w.thing), w.privilege)
    WHEN w.thing = 'public' THEN has_schema_privilege(to_regnamespace(w.thing), w.privilege)
    WHEN w.attname = '' THEN has_table_privilege(to_regclass(w.thing), w.privilege)
    WHEN NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = to_regclass(w.thing) AND a.attname = w.attname
                       AND NOT a.attisdropped) THEN true
    ELSE has_column_privilege(to_regclass(w.thing), w.attname, w.privilege)
  END, true)
ORDER BY w.place
