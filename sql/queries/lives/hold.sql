-- One at a time says what becomes of a battery.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'life', %(passport_id)s::text), 0)) IS NULL AS held
