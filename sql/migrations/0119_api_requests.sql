-- What the API has answered to calls with an Idempotency-Key, for a day; and indexes for what it lists.
-- Former release: keeps working.
-- Functions first: tenants, api_requests

-- Written in the transaction of what the call did, so a call that comes again finds both or neither. No answer yet: the
-- call has parts with rows of their own, or its answer is made anew each time.
CREATE TABLE api_requests (
  api_request_id  uuid PRIMARY KEY,
  tenant_id       uuid NOT NULL REFERENCES tenants,
  actor_id        text NOT NULL CHECK (length(actor_id) BETWEEN 1 AND 200),
  idempotency_key text NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 300),
  request_hash    bytea NOT NULL CHECK (octet_length(request_hash) = 32),
  status          integer CHECK (status BETWEEN 200 AND 299),
  answer          bytea,  -- one with a secret in it is sealed for this very row
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (tenant_id, actor_id, idempotency_key),
  CONSTRAINT api_requests_answered CHECK ((status IS NULL) = (answer IS NULL))
);
CREATE INDEX api_requests_age ON api_requests (created_at);

ALTER TABLE api_requests ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON api_requests USING (tenant_id = bpc_tenant());
GRANT SELECT, INSERT (api_request_id, tenant_id, actor_id, idempotency_key, request_hash), UPDATE (status, answer)
  ON api_requests TO bpc_app;

CREATE INDEX passports_of_product ON passports (battery_product_id, passport_id);
CREATE INDEX passport_versions_status ON passport_versions (tenant_id, status, passport_id);
CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (webhook_endpoint_id, webhook_delivery_id);
CREATE INDEX webhook_deliveries_undelivered ON webhook_deliveries (tenant_id, status, webhook_delivery_id)
  WHERE status <> 'DELIVERED';
