-- Which of the lease columns a table lacks; one row without columns when there is no such table.
SELECT w.name, to_regclass('public.' || quote_ident(w.name)) IS NOT NULL AS exists,
       ARRAY(SELECT n.name FROM unnest(ARRAY['status', 'attempts', 'max_attempts', 'lease_owner', 'lease_expires_at',
                                             'last_heartbeat_at', 'scheduled_at'])
                            WITH ORDINALITY AS n (name, place)
             WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attname = n.name AND NOT a.attisdropped
                                 AND a.attrelid = to_regclass('public.' || quote_ident(w.name)))
             ORDER BY n.place) AS lacks
FROM unnest(%(names)s::text[]) AS w (name)
