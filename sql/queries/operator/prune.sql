-- One page of the walk that removes what ended long ago, by hand; no row while somebody else walks.
SELECT looked_at, removed_jobs, removed_events, at_the_end
FROM bpc_prune_jobs(%(kept_days)s::jsonb, %(page)s::integer, %(anew)s::boolean)
