-- Nothing comes back when the endpoint is switched off.
SELECT found AS webhook_delivery_id FROM bpc_test_webhook(%(webhook_endpoint_id)s) AS found
