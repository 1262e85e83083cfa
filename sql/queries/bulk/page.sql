-- The next page of it, all or nothing; no row: it is not ours any more.
SELECT act_status, act_touched, page_touched
FROM bpc_bulk_page(%(bulk_act_id)s, %(lease_token)s, %(page)s, %(lease_seconds)s)
