INSERT INTO status_places (passport_version_id, tenant_id, status_list, status_idx, status)
SELECT passport_version_id, tenant_id, status_list, status_idx,
       CASE status WHEN 'ACTIVE' THEN 0 WHEN 'REVOKED' THEN 1 WHEN 'SUPERSEDED' THEN 3 ELSE 2 END
FROM passport_versions WHERE status_list >= %s
