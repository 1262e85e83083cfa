-- What a receiver gets: the same members in the same order, whatever the event. The payload stands there as it was hashed.
CREATE OR REPLACE FUNCTION bpc_webhook_body(
  event_id uuid, event_type text, aggregate_type text, aggregate_id uuid, occurred_at timestamptz, payload text
) RETURNS bytea
LANGUAGE sql STABLE
RETURN
  convert_to(format(
    '{"event_id":%s,"event_type":%s,"aggregate_type":%s,"aggregate_id":%s,"occurred_at":%s,"payload":%s}',
    to_json(event_id), to_json(event_type), to_json(aggregate_type), to_json(aggregate_id),
    to_json(to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), payload), 'UTF8');

-- A delivery and its job. The transaction may have said which job it is of; what follows, follows from that. It can ask how
-- many there were, to wake those whom no NOTIFY reaches.
CREATE OR REPLACE FUNCTION bpc_add_delivery(
  of_tenant uuid, to_endpoint uuid, of_event uuid, of_type text, bytes bytea, attempts integer) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT set_config('bpc.deliveries',
                    (coalesce(NULLIF(current_setting('bpc.deliveries', true), ''), '0')::integer + 1)::text, true);
  WITH delivery AS (
    INSERT INTO webhook_deliveries (tenant_id, webhook_endpoint_id, event_id, event_type, body)
    VALUES (of_tenant, to_endpoint, of_event, of_type, bytes)
    RETURNING webhook_delivery_id
  )
  INSERT INTO jobs (tenant_id, type, priority, max_attempts, payload, idempotency_key, parent_job_id, correlation_id,
                    traceparent)
  SELECT of_tenant, 'DELIVER_WEBHOOK', 3, attempts,
         jsonb_build_object('webhook_delivery_id', delivery.webhook_delivery_id), delivery.webhook_delivery_id::text,
         NULLIF(current_setting('bpc.job_id', true), '')::uuid,
         NULLIF(current_setting('bpc.correlation_id', true), ''),
         NULLIF(current_setting('bpc.traceparent', true), '')
  FROM delivery
  RETURNING idempotency_key::uuid
$$;

-- No event without its deliveries, whoever appends it. An endpoint that has asked twice is told once.
CREATE OR REPLACE FUNCTION bpc_deliver_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  PERFORM bpc_add_delivery(
    NEW.tenant_id, e.webhook_endpoint_id, NEW.event_id, NEW.event_type,
    bpc_webhook_body(NEW.event_id, NEW.event_type, NEW.aggregate_type, NEW.aggregate_id, NEW.occurred_at,
                     NEW.payload_text),
    e.max_attempts)
  FROM webhook_endpoints AS e
  WHERE e.tenant_id = NEW.tenant_id AND e.status = 'ACTIVE' AND EXISTS (
    SELECT FROM webhook_subscriptions AS s
    WHERE s.tenant_id = e.tenant_id AND s.webhook_endpoint_id = e.webhook_endpoint_id
      AND s.active AND s.event_type IN (NEW.event_type, '*'))
  ORDER BY e.webhook_endpoint_id;
  IF FOUND AND current_setting('bpc.quiet', true) = 'on' THEN
    PERFORM pg_notify('bpc_jobs', '');  -- a quiet session rings for the jobs that it knows of
  END IF;
  RETURN NULL;
END
$$;

-- How many endpoints nobody is told by any more, of all tenants: for whoever watches the installation.
CREATE OR REPLACE FUNCTION bpc_disabled_endpoints() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT count(*) FROM webhook_endpoints WHERE status = 'DISABLED'
$$;

-- A message that is no event, to try an endpoint with. No row: it is not there, or not ACTIVE.
CREATE OR REPLACE FUNCTION bpc_test_webhook(endpoint uuid) RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT bpc_add_delivery(
    e.tenant_id, e.webhook_endpoint_id, test.event_id, 'WEBHOOK_TEST',
    bpc_webhook_body(test.event_id, 'WEBHOOK_TEST', 'webhook_endpoint', e.webhook_endpoint_id, clock_timestamp(), '{}'),
    1)
  FROM webhook_endpoints AS e, (SELECT bpc_uuid_v7() AS event_id) AS test
  WHERE e.tenant_id = bpc_tenant() AND e.webhook_endpoint_id = endpoint AND e.status = 'ACTIVE'
$$;

-- The same bytes to the same endpoint as another delivery. No row: it is not there, or its endpoint is not ACTIVE.
CREATE OR REPLACE FUNCTION bpc_redeliver(delivery uuid) RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
  SELECT bpc_add_delivery(d.tenant_id, d.webhook_endpoint_id, d.event_id, d.event_type, d.body, e.max_attempts)
  FROM webhook_deliveries AS d JOIN webhook_endpoints AS e USING (tenant_id, webhook_endpoint_id)
  WHERE d.tenant_id = bpc_tenant() AND d.webhook_delivery_id = delivery AND e.status = 'ACTIVE'
$$;

REVOKE EXECUTE ON FUNCTION bpc_webhook_body, bpc_add_delivery, bpc_deliver_event, bpc_disabled_endpoints,
  bpc_test_webhook, bpc_redeliver FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_disabled_endpoints TO bpc_worker, bpc_operator, bpc_reader;
GRANT EXECUTE ON FUNCTION bpc_test_webhook, bpc_redeliver TO bpc_app;
