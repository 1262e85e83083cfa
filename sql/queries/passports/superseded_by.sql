-- The version that took the place of this one, as the audit trail has it.
SELECT e.payload ->> 'superseded_by' AS superseded_by
FROM events AS e
WHERE e.tenant_id = %(tenant_id)s AND e.aggregate_type = 'passport' AND e.aggregate_id = %(passport_id)s
  AND e.event_type = 'PASSPORT_SUPERSEDED' AND e.payload ->> 'passport_version_id' = %(passport_version_id)s::text
