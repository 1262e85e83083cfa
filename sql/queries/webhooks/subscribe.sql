-- What an endpoint is told of.
INSERT INTO webhook_subscriptions (tenant_id, webhook_endpoint_id, event_type)
SELECT %(tenant_id)s, %(webhook_endpoint_id)s, event_type FROM unnest(%(event_types)s::text[]) AS event_type
