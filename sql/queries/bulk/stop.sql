-- No further page of it.
SELECT bpc_stop_bulk(%(bulk_act_id)s) AS was_running
