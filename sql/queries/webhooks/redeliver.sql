-- Nothing comes back when the delivery is not there, or its endpoint is switched off.
SELECT found AS webhook_delivery_id FROM bpc_redeliver(%(webhook_delivery_id)s) AS found
