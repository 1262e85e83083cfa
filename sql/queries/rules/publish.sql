-- Nothing comes back unless it was VALIDATED.
UPDATE rule_package_versions SET status = 'PUBLISHED'
WHERE tenant_id = %(tenant_id)s AND rule_package_version_id = %(rule_package_version_id)s AND status = 'VALIDATED'
RETURNING rule_package_version_id
