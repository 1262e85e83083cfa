-- The builds that somebody has to see to, the newest first.
SELECT b.build_id, p.serial, b.errors, b.created_at
FROM passport_builds AS b JOIN passports AS p USING (tenant_id, passport_id)
WHERE b.state = 'STOPPED'
ORDER BY b.build_id DESC
LIMIT %(limit)s
