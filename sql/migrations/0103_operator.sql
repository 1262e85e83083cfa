-- What an operator sees and does: who works, what is paused and who paused it.
-- Former release: keeps working.
-- Functions first: pauses

-- Which processes there are and what they handle. Each writes its row when it starts and again before `expires_at`.
CREATE TABLE workers (
  worker_id   text NOT NULL CHECK (length(worker_id) BETWEEN 1 AND 500),
  host        text NOT NULL CHECK (length(host) BETWEEN 1 AND 500),
  pid         integer NOT NULL,
  release     text NOT NULL,
  types       text[] NOT NULL,  -- none: it only reaps
  queues      text[] NOT NULL,
  concurrency integer NOT NULL CHECK (concurrency >= 0),
  started_at  timestamptz NOT NULL,
  seen_at     timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,  -- not seen again until then: gone
  PRIMARY KEY (worker_id, host, pid)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON workers TO bpc_worker;
GRANT SELECT ON workers TO bpc_operator, bpc_reader;

CREATE TABLE job_pauses (
  kind       text NOT NULL CHECK (kind IN ('queue', 'type', 'tenant')),
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),  -- of a tenant: its id
  reason     text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  paused_by  text NOT NULL DEFAULT session_user,
  paused_at  timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at < 'infinity'),  -- NULL: until somebody resumes it
  PRIMARY KEY (kind, name)
);

-- Who paused and who resumed: job_pauses knows only what is paused now.
CREATE TABLE job_pause_events (
  job_pause_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  action     text NOT NULL CHECK (action IN ('paused', 'resumed')),
  kind       text NOT NULL,
  name       text NOT NULL,
  by         text NOT NULL DEFAULT session_user,
  reason     text NOT NULL,
  expires_at timestamptz
);
GRANT SELECT ON job_pause_events TO bpc_operator, bpc_reader;

CREATE TRIGGER job_pauses_noted AFTER INSERT OR UPDATE OR DELETE ON job_pauses
FOR EACH ROW EXECUTE FUNCTION bpc_note_pause();

GRANT SELECT ON job_pauses TO bpc_worker, bpc_operator, bpc_reader;
