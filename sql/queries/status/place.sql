-- The place that was given to a version, and whose list it is in.
SELECT l.issuer, p.status_list, p.status_idx
FROM status_places AS p JOIN status_lists AS l USING (tenant_id, status_list)
WHERE p.tenant_id = %(tenant_id)s AND p.passport_version_id = %(passport_version_id)s
