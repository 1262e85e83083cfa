-- A new build; it waits for its documents.
INSERT INTO passport_builds (tenant_id, battery_product_id, passport_id, rule_package_version_id, law_date)
VALUES (%(tenant_id)s, %(battery_product_id)s, %(passport_id)s, %(rule_package_version_id)s, %(law_date)s)
RETURNING build_id
