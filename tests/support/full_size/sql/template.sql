SELECT v.*, p.battery_product_id, r.name AS rules_name
FROM passport_versions AS v JOIN passports AS p USING (passport_id)
JOIN rule_package_versions AS rv USING (rule_package_version_id) JOIN rule_packages AS r USING (rule_package_id)
WHERE v.passport_version_id = %s
