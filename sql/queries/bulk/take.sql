-- One that nobody carries out.
SELECT bulk_act_id, lease_token FROM bpc_take_bulk(%(owner)s, %(lease_seconds)s)
