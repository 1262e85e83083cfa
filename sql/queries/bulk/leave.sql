-- Leave it to another server.
SELECT bpc_leave_bulk(%(bulk_act_id)s, %(lease_token)s)
