-- Guards every change of status or attempts that is not a claim or a settle: those two never get past the
-- WHEN clause of its trigger. SECURITY DEFINER so that an operator can cause the event without INSERT on job_events.
CREATE OR REPLACE FUNCTION bpc_guard_job_edge() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
BEGIN
  IF NEW.status = OLD.status AND NEW.attempts = OLD.attempts THEN
    RETURN NEW;
  END IF;

  IF OLD.status IN ('DEAD_LETTER', 'FAILED') AND NEW.status = 'QUEUED' THEN
    IF NEW.attempts >= NEW.max_attempts THEN
      NEW.attempts := 0;
    END IF;
    NEW.scheduled_at := clock_timestamp();
    NEW.snoozes := 0;
    NEW.lease_token := NULL;
    NEW.started_at := NULL;
    NEW.finished_at := NULL;
    NEW.fail_code := NULL;
    NEW.fail_reason := NULL;
    NEW.stage := NULL;
    NEW.progress := NULL;
    NEW.cancel_requested_at := NULL;
    INSERT INTO job_events (job_id, type, data) VALUES (NEW.job_id, 'job:requeued', jsonb_build_object(
      'by', bpc_who(), 'from', OLD.status, 'attempts', OLD.attempts, 'code', OLD.fail_code));
    PERFORM pg_notify('bpc_jobs', '');
    RETURN NEW;
  END IF;

  IF NEW.status = 'CANCELLED' AND OLD.status IN ('QUEUED', 'DEAD_LETTER', 'FAILED') THEN
    NEW.finished_at := clock_timestamp();
    INSERT INTO job_events (job_id, type, data) VALUES (NEW.job_id, 'job:cancelled', jsonb_build_object(
      'by', bpc_who(), 'from', OLD.status, 'attempts', OLD.attempts, 'code', OLD.fail_code));
    RETURN NEW;
  END IF;

  IF NEW.status = 'QUEUED' AND OLD.status = 'QUEUED' THEN
    INSERT INTO job_events (job_id, type, data) VALUES (NEW.job_id, 'job:attempts_set', jsonb_build_object(
      'by', bpc_who(), 'from', OLD.attempts, 'to', NEW.attempts));
    RETURN NEW;
  END IF;

  RAISE EXCEPTION 'job % cannot go from % to %', OLD.job_id, OLD.status, NEW.status
    USING ERRCODE = 'check_violation',
          HINT = 'Legal by hand: DEAD_LETTER or FAILED to QUEUED (retry) or CANCELLED (discard), QUEUED to CANCELLED. '
                 'A running job is cancelled with SELECT bpc_cancel_job(job_id).';
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_guard_job_edge FROM PUBLIC;
