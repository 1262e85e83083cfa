-- The passports in force of these batteries, a page of them.
SELECT p.passport_id, p.unique_identifier FROM public_passports AS p
WHERE p.unique_identifier = ANY (%(identifiers)s::text[]) AND p.status = 'ACTIVE' AND p.unique_identifier > %(after)s
ORDER BY p.unique_identifier
LIMIT %(page)s
