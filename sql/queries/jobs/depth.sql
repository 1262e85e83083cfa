-- How many jobs of a tenant, and of all, waited when they were last counted, and when that was.
SELECT coalesce((SELECT sum(queued) FROM queue_samples WHERE tenant_id = %(tenant_id)s), 0)::bigint AS of_tenant,
       queued AS in_all, sampled_at
FROM queue_totals
