-- One page of the walk that removes what ended long ago; no row while somebody else walks, or while workers rest.
SELECT looked_at, removed_jobs, removed_events, at_the_end, rest_seconds
FROM bpc_prune_page(%(kept_days)s::jsonb, %(page)s::integer)
