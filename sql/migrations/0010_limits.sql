-- Token buckets that any number of processes share.
-- Former release: keeps working.

-- Few rows, written often: room on the page for the next version of each, and no index but the key.
CREATE TABLE rate_limits (
  key        text PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 200),
  per_second double precision NOT NULL CHECK (per_second > 0 AND per_second <= 1000000),
  burst      double precision NOT NULL CHECK (burst >= 1 AND burst <= 1000000),
  tokens     double precision NOT NULL CHECK (tokens >= 0 AND tokens <= 1000000),
  taken      integer NOT NULL CHECK (taken >= 0),  -- by the last call, which learns it from here
  updated_at timestamptz NOT NULL
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE ON rate_limits TO bpc_worker, bpc_producer, bpc_app;
GRANT SELECT ON rate_limits TO bpc_operator, bpc_reader;
