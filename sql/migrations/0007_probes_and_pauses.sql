-- Claims by probe, pauses, and a bell that PostgreSQL rings itself.
-- Former release: keeps working.
-- (Its claims sort the whole queue: replace its workers soon.)

-- One place per (queue, type, priority), oldest first: a claim goes straight to what it may take, whatever lies
-- ahead of it in other queues, other types or the future. A suspect is not in here: it is claimed alone.
CREATE INDEX jobs_probe ON jobs (queue, type, priority, scheduled_at, job_id)
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority >= 0;
-- The same within a tenant, for the share of claims that goes round the tenants. Every priority is at least 0 and
-- at most 3: saying the one there and the other here keeps the planner from taking one index for the other's
-- work, which PostgreSQL 18 does with one tenant in the table, and with a thousand would regret.
CREATE INDEX jobs_ring ON jobs (tenant_id, queue, type, priority, scheduled_at, job_id)
  WHERE status = 'QUEUED' AND (fail_code IS DISTINCT FROM 'LEASE_EXPIRED' OR attempts < 2) AND priority <= 3;
DROP INDEX jobs_due;

CREATE TABLE job_pauses (
  kind       text NOT NULL CHECK (kind IN ('queue', 'type', 'tenant')),
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),  -- of a tenant: its id
  reason     text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  paused_by  text NOT NULL DEFAULT session_user,
  paused_at  timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz CHECK (expires_at < 'infinity'),  -- NULL: until somebody resumes it
  PRIMARY KEY (kind, name)
);

-- Pausing what is paused changes reason and end.
CREATE FUNCTION bpc_pause(of_kind text, of_name text, why text, until timestamptz DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
  INSERT INTO job_pauses (kind, name, reason, expires_at) VALUES (of_kind, of_name, why, until)
  ON CONFLICT (kind, name) DO UPDATE
  SET reason = excluded.reason, expires_at = excluded.expires_at,
      paused_by = excluded.paused_by, paused_at = excluded.paused_at
$$;

-- Whether it was paused.
CREATE FUNCTION bpc_resume(of_kind text, of_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  DELETE FROM job_pauses WHERE kind = of_kind AND name = of_name;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pg_notify('bpc_jobs', '');
  RETURN true;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_pause, bpc_resume FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bpc_pause, bpc_resume TO bpc_operator, bpc_app;
GRANT SELECT ON job_pauses TO bpc_worker, bpc_operator, bpc_reader, bpc_app;

-- Whoever inserts jobs wakes the workers at his commit. Our own sessions keep quiet and ring once for many:
-- every NOTIFY makes the commits of a database wait for one another.
CREATE FUNCTION bpc_ring() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('bpc_jobs', '');
  RETURN NULL;
END
$$;
CREATE TRIGGER jobs_ring_bell AFTER INSERT ON jobs
FOR EACH STATEMENT WHEN (current_setting('bpc.quiet', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION bpc_ring();
