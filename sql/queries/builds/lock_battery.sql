-- One at a time begins or goes on with the builds of a battery.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'build', %(tenant_id)s::text, %(identifier)s::text,
                                                        %(serial)s::text), 0)) IS NULL AS held
