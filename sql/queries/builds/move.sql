-- To its next state; what was made before stays, and errors are gone.
UPDATE passport_builds
SET state = %(state)s, errors = NULL,
    snapshot_id = coalesce(%(snapshot_id)s, snapshot_id),
    passport_version_id = coalesce(%(passport_version_id)s, passport_version_id),
    finished_at = CASE WHEN %(state)s = 'DONE' THEN clock_timestamp() END
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s
