-- Nothing comes back when it was validated before.
UPDATE rule_package_versions SET status = 'VALIDATED'
WHERE tenant_id = %(tenant_id)s AND rule_package_version_id = %(rule_package_version_id)s AND status = 'DRAFT'
RETURNING rule_package_version_id
