-- Webhooks: who is told of which events, and what became of every delivery.
-- Former release: keeps working.
-- (It has no handler for DELIVER_WEBHOOK: deliveries wait until its workers are replaced.)

-- Where to; its secrets are sealed for this very row. Sealed bytes in another row open nothing.
CREATE TABLE webhook_endpoints (
  webhook_endpoint_id uuid PRIMARY KEY,
  tenant_id           uuid NOT NULL REFERENCES tenants,
  url                 text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  status              text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'DISABLED')),
  max_attempts        integer NOT NULL DEFAULT 5 CHECK (max_attempts BETWEEN 1 AND 1000),
  secret              bytea NOT NULL,
  public_key          bytea NOT NULL CHECK (octet_length(public_key) = 32),
  former_secret       bytea,
  former_until        timestamptz,  -- until then both secrets sign
  failing_since       timestamptz,  -- of the first failure since the last success
  disabled_at         timestamptz,
  disabled_reason     text CHECK (length(disabled_reason) BETWEEN 1 AND 1000),
  created_at          timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, webhook_endpoint_id),
  CONSTRAINT webhook_endpoints_disabled_says_why CHECK (
    (status = 'DISABLED') = (disabled_at IS NOT NULL) AND (disabled_at IS NULL) = (disabled_reason IS NULL)),
  CONSTRAINT webhook_endpoints_former_has_an_end CHECK ((former_secret IS NULL) = (former_until IS NULL))
);

-- One type of event, or * for all of them.
CREATE TABLE webhook_subscriptions (
  webhook_subscription_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id               uuid NOT NULL,
  webhook_endpoint_id     uuid NOT NULL,
  event_type              text NOT NULL CHECK (event_type ~ '^([*]|[A-Z][A-Z_]{2,63})$'),
  active                  boolean NOT NULL DEFAULT true,
  created_at              timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, webhook_endpoint_id, event_type),
  FOREIGN KEY (tenant_id, webhook_endpoint_id) REFERENCES webhook_endpoints (tenant_id, webhook_endpoint_id)
);

-- `body` is made once: every attempt sends these bytes. The other columns tell of the last attempt.
CREATE TABLE webhook_deliveries (
  webhook_delivery_id uuid PRIMARY KEY DEFAULT bpc_uuid_v7(),
  tenant_id           uuid NOT NULL,
  webhook_endpoint_id uuid NOT NULL,
  event_id            uuid NOT NULL,
  event_type          text NOT NULL,
  body                bytea NOT NULL,
  status              text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  http_status         integer,
  response_headers    jsonb,
  response_body       bytea,
  delivered_at        timestamptz,
  error_message       text,
  created_at          timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (tenant_id, webhook_endpoint_id) REFERENCES webhook_endpoints (tenant_id, webhook_endpoint_id),
  CONSTRAINT webhook_deliveries_delivered_at CHECK ((status = 'DELIVERED') = (delivered_at IS NOT NULL))
);
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (tenant_id, webhook_delivery_id);

CREATE TRIGGER webhook_endpoints_keep_place
BEFORE UPDATE OF webhook_endpoint_id, tenant_id, url, created_at ON webhook_endpoints
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('an endpoint keeps its address: add another');
CREATE TRIGGER webhook_endpoints_stay BEFORE DELETE ON webhook_endpoints
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('deliveries name them: disable it');
CREATE TRIGGER webhook_subscriptions_keep_type
BEFORE UPDATE OF webhook_subscription_id, tenant_id, webhook_endpoint_id, event_type, created_at
ON webhook_subscriptions
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('a subscription keeps its event type: add another');
CREATE TRIGGER webhook_deliveries_keep_body
BEFORE UPDATE OF webhook_delivery_id, tenant_id, webhook_endpoint_id, event_id, event_type, body, created_at
ON webhook_deliveries
FOR EACH ROW EXECUTE FUNCTION bpc_refuse_change('every attempt sends the same bytes');
CREATE TRIGGER webhook_deliveries_status BEFORE UPDATE OF status ON webhook_deliveries
FOR EACH ROW EXECUTE FUNCTION bpc_guard_status('PENDING>DELIVERED', 'PENDING>FAILED', 'FAILED>PENDING');
CREATE TRIGGER webhook_deliveries_delivered_stay BEFORE UPDATE OR DELETE ON webhook_deliveries
FOR EACH ROW WHEN (OLD.status = 'DELIVERED')
EXECUTE FUNCTION bpc_refuse_change('it was delivered');

-- A delivery and its job. The transaction may have said which job it is of; what follows, follows from that.
CREATE FUNCTION bpc_add_delivery(
  of_tenant uuid, to_endpoint uuid, of_event uuid, of_type text, bytes bytea, attempts integer) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
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

-- What a receiver gets: the same members in the same order, whatever the event.
CREATE FUNCTION bpc_webhook_body(
  event_id uuid, event_type text, aggregate_type text, aggregate_id uuid, occurred_at timestamptz, payload jsonb
) RETURNS bytea
LANGUAGE sql STABLE
AS $$
  SELECT convert_to(format(
    '{"event_id":%s,"event_type":%s,"aggregate_type":%s,"aggregate_id":%s,"occurred_at":%s,"payload":%s}',
    to_json(event_id), to_json(event_type), to_json(aggregate_type), to_json(aggregate_id),
    to_json(to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), payload), 'UTF8')
$$;

-- No event without its deliveries, whoever appends it. An endpoint that has asked twice is told once.
CREATE FUNCTION bpc_deliver_event() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  PERFORM bpc_add_delivery(
    NEW.tenant_id, e.webhook_endpoint_id, NEW.event_id, NEW.event_type,
    bpc_webhook_body(NEW.event_id, NEW.event_type, NEW.aggregate_type, NEW.aggregate_id, NEW.occurred_at, NEW.payload),
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
CREATE TRIGGER events_deliver AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION bpc_deliver_event();

-- A message that is no event, to try an endpoint with. No row: it is not there, or not ACTIVE.
CREATE FUNCTION bpc_test_webhook(endpoint uuid) RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
  SELECT bpc_add_delivery(
    e.tenant_id, e.webhook_endpoint_id, test.event_id, 'WEBHOOK_TEST',
    bpc_webhook_body(test.event_id, 'WEBHOOK_TEST', 'webhook_endpoint', e.webhook_endpoint_id, clock_timestamp(), '{}'),
    1)
  FROM webhook_endpoints AS e, (SELECT bpc_uuid_v7() AS event_id) AS test
  WHERE e.tenant_id = bpc_tenant() AND e.webhook_endpoint_id = endpoint AND e.status = 'ACTIVE'
$$;

-- The same bytes to the same endpoint as another delivery. No row: it is not there, or its endpoint is not ACTIVE.
CREATE FUNCTION bpc_redeliver(delivery uuid) RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
  SELECT bpc_add_delivery(d.tenant_id, d.webhook_endpoint_id, d.event_id, d.event_type, d.body, e.max_attempts)
  FROM webhook_deliveries AS d JOIN webhook_endpoints AS e USING (tenant_id, webhook_endpoint_id)
  WHERE d.tenant_id = bpc_tenant() AND d.webhook_delivery_id = delivery AND e.status = 'ACTIVE'
$$;

-- A delivery shares the fate of its job: FAILED when that dies, PENDING when it is retried by hand. It runs inside
-- every settle of such a job, so whatever somebody wrote into the payload, it must not fail.
CREATE FUNCTION bpc_tell_delivery() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  named text := NEW.payload ->> 'webhook_delivery_id';
BEGIN
  IF named !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
    RETURN NULL;
  END IF;
  IF NEW.status = 'QUEUED' THEN
    UPDATE webhook_deliveries SET status = 'PENDING'
    WHERE tenant_id = NEW.tenant_id AND webhook_delivery_id = named::uuid AND status = 'FAILED';
  ELSE
    UPDATE webhook_deliveries
    SET status = 'FAILED',
        error_message = CASE WHEN NEW.status = 'CANCELLED' THEN 'the job was cancelled'
                        ELSE left(concat_ws(': ', NEW.fail_code, NEW.fail_reason), 2000) END
    WHERE tenant_id = NEW.tenant_id AND webhook_delivery_id = named::uuid AND status = 'PENDING';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER jobs_tell_delivery AFTER UPDATE OF status ON jobs
FOR EACH ROW WHEN (
  NEW.type = 'DELIVER_WEBHOOK' AND (
    (NEW.status IN ('FAILED', 'DEAD_LETTER', 'CANCELLED') AND NEW.status <> OLD.status)
    OR (NEW.status = 'QUEUED' AND OLD.status IN ('FAILED', 'DEAD_LETTER'))))
EXECUTE FUNCTION bpc_tell_delivery();

REVOKE EXECUTE ON FUNCTION bpc_add_delivery, bpc_webhook_body, bpc_deliver_event, bpc_test_webhook, bpc_redeliver,
  bpc_tell_delivery FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_test_webhook, bpc_redeliver TO bpc_app;

DO $$
DECLARE
  domain_table text;
BEGIN
  FOREACH domain_table IN ARRAY ARRAY['webhook_endpoints', 'webhook_subscriptions', 'webhook_deliveries']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', domain_table);
    EXECUTE format('CREATE POLICY own_tenant ON %I USING (tenant_id = bpc_tenant())', domain_table);
    EXECUTE format('GRANT SELECT ON %I TO bpc_worker, bpc_app', domain_table);
  END LOOP;
END
$$;
GRANT SELECT ON webhook_subscriptions, webhook_deliveries TO bpc_operator, bpc_reader;
-- Secrets, sealed or not, are for those who need them; in many an address the path is one.
GRANT SELECT (webhook_endpoint_id, tenant_id, status, max_attempts, public_key, former_until, failing_since,
  disabled_at, disabled_reason, created_at) ON webhook_endpoints TO bpc_operator, bpc_reader;

GRANT INSERT (webhook_endpoint_id, tenant_id, url, max_attempts, secret, public_key) ON webhook_endpoints TO bpc_app;
GRANT INSERT (tenant_id, webhook_endpoint_id, event_type) ON webhook_subscriptions TO bpc_app;
GRANT UPDATE (status, failing_since, disabled_at, disabled_reason) ON webhook_endpoints TO bpc_worker, bpc_app;
GRANT UPDATE (max_attempts, secret, public_key, former_secret, former_until) ON webhook_endpoints TO bpc_app;
GRANT UPDATE (active) ON webhook_subscriptions TO bpc_app;
-- Nobody inserts a delivery but the functions above.
GRANT UPDATE (status, http_status, response_headers, response_body, delivered_at, error_message)
  ON webhook_deliveries TO bpc_worker;
