-- A delivery, where it goes, and what it is signed with now: the former secret too while its time lasts.
SELECT d.webhook_delivery_id, d.webhook_endpoint_id, d.event_id, d.event_type, d.status, d.body, e.url,
       e.status AS endpoint_status, e.disabled_reason, e.failing_since, e.secret,
       CASE WHEN e.former_until > clock_timestamp() THEN e.former_secret END AS former_secret, clock_timestamp() AS now
FROM webhook_deliveries AS d JOIN webhook_endpoints AS e USING (tenant_id, webhook_endpoint_id)
WHERE d.tenant_id = %(tenant_id)s AND d.webhook_delivery_id = %(webhook_delivery_id)s
