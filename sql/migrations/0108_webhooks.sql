-- Webhooks: who is told of which events, and what became of every delivery.
-- Former release: keeps working.
-- Functions first: guards, retention, webhooks

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
CREATE TRIGGER webhook_deliveries_delivered_stay BEFORE UPDATE ON webhook_deliveries
FOR EACH ROW WHEN (OLD.status = 'DELIVERED') EXECUTE FUNCTION bpc_refuse_change('it was delivered');
CREATE TRIGGER webhook_deliveries_leave_by_retention BEFORE DELETE ON webhook_deliveries
FOR EACH ROW WHEN (NOT bpc_in_retention()) EXECUTE FUNCTION bpc_refuse_change('only retention removes deliveries');
CREATE TRIGGER events_deliver AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION bpc_deliver_event();

-- Secrets, sealed or not, are for those who need them; in many an address the path is one.
GRANT SELECT (webhook_endpoint_id, tenant_id, status, max_attempts, public_key, former_until, failing_since,
  disabled_at, disabled_reason, created_at) ON webhook_endpoints TO bpc_operator, bpc_reader;

GRANT INSERT (webhook_endpoint_id, tenant_id, url, max_attempts, secret, public_key) ON webhook_endpoints TO bpc_app;
GRANT INSERT (tenant_id, webhook_endpoint_id, event_type) ON webhook_subscriptions TO bpc_app;
GRANT UPDATE (status, failing_since, disabled_at, disabled_reason) ON webhook_endpoints TO bpc_worker, bpc_app;
GRANT UPDATE (max_attempts, secret, public_key, former_secret, former_until) ON webhook_endpoints TO bpc_app;
GRANT UPDATE (active) ON webhook_subscriptions TO bpc_app;
-- Nobody inserts a delivery but the functions of webhooks.sql.
GRANT UPDATE (status, http_status, response_headers, response_body, delivered_at, error_message)
  ON webhook_deliveries TO bpc_worker;
