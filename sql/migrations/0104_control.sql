-- Rates that processes share, who looks after suspects, how full the queue is, when schedules last ticked, how far the
-- removal of old jobs has come.
-- Former release: keeps working.

-- Token buckets that any number of processes share.
-- Few rows, written often: room on the page for the next version of each, and no index but the key.
CREATE TABLE rate_limits (
  key        text PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 200),
  per_second double precision NOT NULL CHECK (per_second > 0 AND per_second <= 1000000),
  burst      double precision NOT NULL CHECK (burst >= 1 AND burst <= 1000000),
  tokens     double precision NOT NULL CHECK (tokens >= 0 AND tokens <= 1000000),
  updated_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Tokens are taken by functions that wait for nobody: whoever could write here could hold a row, and with it all claims.
GRANT SELECT ON rate_limits TO bpc_worker, bpc_producer, bpc_app, bpc_operator, bpc_reader;

-- Who runs suspects: one process in the whole fleet, started by a worker that keeps this row; late, it is anybody's.
CREATE TABLE suspect_watch (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  owner    text NOT NULL DEFAULT '',
  until    timestamptz NOT NULL DEFAULT '1970-01-01Z'
);
INSERT INTO suspect_watch DEFAULT VALUES;
GRANT SELECT, UPDATE ON suspect_watch TO bpc_worker;
GRANT SELECT ON suspect_watch TO bpc_operator, bpc_reader, bpc_app;

-- Counted now and then by whichever worker's turn it is; every enqueue with a limit reads it.
CREATE TABLE queue_samples (
  tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
  queue     text NOT NULL,
  type      text NOT NULL,
  queued    bigint NOT NULL CHECK (queued >= 0),
  oldest_at timestamptz,  -- since when the first of them has been due; NULL: none is yet
  PRIMARY KEY (tenant_id, queue, type)
);
CREATE TABLE queue_totals (
  only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  queued       bigint NOT NULL DEFAULT 0 CHECK (queued >= 0),
  sampled_at   timestamptz NOT NULL DEFAULT '1970-01-01Z',
  took_seconds double precision NOT NULL DEFAULT 0
);
INSERT INTO queue_totals DEFAULT VALUES;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue_samples TO bpc_worker;
GRANT SELECT, UPDATE ON queue_totals TO bpc_worker;
GRANT SELECT ON queue_samples, queue_totals TO bpc_producer, bpc_operator, bpc_reader, bpc_app;

CREATE TABLE schedule_ticks (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 100),
  tick timestamptz NOT NULL,  -- the last one whose job is queued
  taken_until timestamptz     -- until then some worker queues the jobs of the next one
);
GRANT SELECT, INSERT, UPDATE ON schedule_ticks TO bpc_worker;
GRANT SELECT ON schedule_ticks TO bpc_operator, bpc_reader, bpc_app;

-- How far the removal of old jobs has come on its way along the index of ends.
CREATE TABLE prune_progress (
  only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  reached      jsonb NOT NULL DEFAULT '{}',  -- by type as the settings name it: end and id of the last row looked at
  began_at     timestamptz NOT NULL DEFAULT now(),
  behind_since timestamptz,  -- NULL: the last walk came to the young ones
  rests_until  timestamptz NOT NULL DEFAULT '1970-01-01Z'
);
INSERT INTO prune_progress DEFAULT VALUES;
GRANT SELECT ON prune_progress TO bpc_operator, bpc_reader, bpc_app;
