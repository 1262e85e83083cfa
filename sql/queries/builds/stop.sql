-- Stopped, with the reasons.
UPDATE passport_builds SET state = 'STOPPED', errors = %(errors)s::jsonb
WHERE tenant_id = %(tenant_id)s AND build_id = %(build_id)s
