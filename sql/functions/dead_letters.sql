-- What would be touched: the same choice as in bpc_lock_dead below. NULL = any. It sets no search_path: the planner
-- looks only into functions that set nothing, and a page of dead letters is to come from an index.
CREATE OR REPLACE FUNCTION bpc_dead_letters(
  of_type text DEFAULT NULL, with_code text DEFAULT NULL, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false
) RETURNS TABLE (
  job_id uuid, tenant_id uuid, type text, queue text, status text, priority smallint, attempts integer,
  max_attempts integer, created_at timestamptz, scheduled_at timestamptz, started_at timestamptz,
  finished_at timestamptz, fail_code text, last_error jsonb
)
LANGUAGE sql STABLE
AS $$
  SELECT j.job_id, j.tenant_id, j.type, j.queue, j.status, j.priority, j.attempts, j.max_attempts, j.created_at,
         j.scheduled_at, j.started_at, j.finished_at, j.fail_code, j.last_error
  FROM {schema}.jobs AS j
  WHERE j.status IN ('DEAD_LETTER', 'FAILED') AND (failed_too OR j.status = 'DEAD_LETTER')
    AND (of_type IS NULL OR j.type = of_type)
    AND (with_code IS NULL OR j.fail_code = with_code)
    AND (of_tenant IS NULL OR j.tenant_id = of_tenant)
    AND (died_since IS NULL OR j.finished_at >= died_since)
    AND (died_before IS NULL OR j.finished_at < died_before)
$$;

-- One page of them, locked; what somebody else holds is passed over, and for an owner what is another tenant's.
CREATE OR REPLACE FUNCTION bpc_lock_dead(
  of_type text, with_code text, of_tenant uuid,
  died_since timestamptz, died_before timestamptz, failed_too boolean, page integer
) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF num_nonnulls(of_type, with_code, of_tenant, died_since, died_before) = 0 THEN
    RAISE EXCEPTION 'which ones? give a type, a code, a tenant or a time'
      USING ERRCODE = 'null_value_not_allowed', HINT = 'All of them: died_before => now().';
  END IF;
  RETURN ARRAY(
    SELECT job_id FROM jobs
    WHERE status IN ('DEAD_LETTER', 'FAILED') AND (failed_too OR status = 'DEAD_LETTER')
      AND (of_type IS NULL OR type = of_type)
      AND (with_code IS NULL OR fail_code = with_code)
      AND (of_tenant IS NULL OR tenant_id = of_tenant)
      AND (died_since IS NULL OR finished_at >= died_since)
      AND (died_before IS NULL OR finished_at < died_before)
      AND (tenant_id = bpc_tenant() OR bpc_acts_for_all())
    ORDER BY finished_at, job_id
    LIMIT page
    FOR UPDATE SKIP LOCKED);
END
$$;

-- One page; returns how many were retried. Whoever calls it until it returns 0 gives a `died_before` of when he began:
-- otherwise what dies again meanwhile is retried again, for ever.
CREATE OR REPLACE FUNCTION bpc_retry_jobs(
  of_type text DEFAULT NULL, with_code text DEFAULT NULL, page integer DEFAULT 500, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  chosen uuid[] := bpc_lock_dead(of_type, with_code, of_tenant, died_since, died_before, failed_too, page);
BEGIN
  UPDATE jobs SET status = 'QUEUED', attempts = 0 WHERE job_id = ANY (chosen);
  RETURN cardinality(chosen);
END
$$;

-- The same for giving up: one page, CANCELLED.
CREATE OR REPLACE FUNCTION bpc_discard_jobs(
  of_type text DEFAULT NULL, with_code text DEFAULT NULL, page integer DEFAULT 500, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  chosen uuid[] := bpc_lock_dead(of_type, with_code, of_tenant, died_since, died_before, failed_too, page);
BEGIN
  UPDATE jobs SET status = 'CANCELLED' WHERE job_id = ANY (chosen);
  RETURN cardinality(chosen);
END
$$;

-- All of them, page by page, each committed, for psql: CALL it outside a transaction. What dies again meanwhile is
-- left alone; stopped and called again, it goes on with the rest. It sets no search_path: then it could not COMMIT.
CREATE OR REPLACE PROCEDURE bpc_all_dead(
  act text, of_type text DEFAULT NULL, with_code text DEFAULT NULL, of_tenant uuid DEFAULT NULL,
  died_since timestamptz DEFAULT NULL, died_before timestamptz DEFAULT NULL, failed_too boolean DEFAULT false,
  page integer DEFAULT 500, INOUT touched integer DEFAULT 0
)
LANGUAGE plpgsql
AS $$
DECLARE
  began timestamptz := clock_timestamp();
  moved integer;
BEGIN
  IF num_nonnulls(of_type, with_code, of_tenant, died_since, died_before) > 0 THEN
    died_before := least(died_before, began);  -- and if not: the functions ask which ones
  END IF;
  touched := 0;
  LOOP
    IF act = 'retry' THEN
      moved := {schema}.bpc_retry_jobs(of_type, with_code, page, of_tenant, died_since, died_before, failed_too);
    ELSIF act = 'discard' THEN
      moved := {schema}.bpc_discard_jobs(of_type, with_code, page, of_tenant, died_since, died_before, failed_too);
    ELSE
      RAISE EXCEPTION 'act is %, and may be retry or discard', act USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXIT WHEN moved = 0;
    COMMIT;
    touched := touched + moved;
    RAISE NOTICE '% done', touched;
  END LOOP;
END
$$;

REVOKE EXECUTE ON ROUTINE bpc_dead_letters, bpc_lock_dead, bpc_retry_jobs, bpc_discard_jobs, bpc_all_dead FROM PUBLIC;
GRANT EXECUTE ON ROUTINE bpc_dead_letters TO bpc_operator, bpc_reader;
GRANT EXECUTE ON ROUTINE bpc_retry_jobs TO bpc_operator, bpc_app;
GRANT EXECUTE ON ROUTINE bpc_discard_jobs, bpc_all_dead TO bpc_operator;
