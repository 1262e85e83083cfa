-- Remove what may go, of the next page of one step of the tenant's.
SELECT cut_off, removed, last_id, at_the_end
FROM bpc_sweep(
  %(step)s, %(kept_days)s, coalesce(%(after)s::uuid, '00000000-0000-0000-0000-000000000000'), %(page)s)
