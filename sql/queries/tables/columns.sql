-- The columns of a table and their types; none where there is no such table.
SELECT attname::text AS name, format_type(atttypid, NULL) AS type
FROM pg_attribute
WHERE attrelid = to_regclass('public.' || quote_ident(%(name)s)) AND attnum > 0 AND NOT attisdropped
