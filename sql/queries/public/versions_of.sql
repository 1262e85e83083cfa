-- The versions of a passport that were in force once, newest first, with their views.
SELECT p.passport_version_id, p.tenant_id, p.passport_id, p.unique_identifier, p.granularity, p.product, p.status,
       p.issued_at, p.law_date, p.activated_at, p.superseded_at, p.superseded_by, p.revoked_at, p.recycled_at,
       p.economic_operator, p.facility, NULL::text AS followed_by, p.view
FROM public_passports AS p
WHERE (p.passport_id = %(passport_id)s OR p.unique_identifier = %(identifier)s) AND p.activated_at IS NOT NULL
ORDER BY p.activated_at DESC, p.passport_version_id
LIMIT 200
