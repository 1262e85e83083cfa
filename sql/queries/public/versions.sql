-- The versions of a passport that were in force once, newest first; the view of the one that is, and of the one that is wanted.
SELECT p.passport_version_id, p.tenant_id, p.passport_id, p.unique_identifier, p.granularity, p.product, p.status, p.issued_at,
       p.law_date, p.activated_at, p.superseded_at, p.superseded_by, p.revoked_at, p.recycled_at, p.economic_operator,
       p.facility, next.unique_identifier AS followed_by,
       CASE WHEN p.status = 'ACTIVE' OR p.passport_version_id = %(version)s THEN p.view END AS view
FROM public_passports AS p
LEFT JOIN public_passports AS next ON next.passport_version_id = p.superseded_by
WHERE p.unique_identifier = %(identifier)s
ORDER BY p.activated_at DESC, p.passport_version_id
LIMIT 200
