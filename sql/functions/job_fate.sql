-- What follows from the fate of a job.
-- A delivery shares it: FAILED when its job dies, PENDING when that is retried by hand. This runs inside every settle of
-- such a job, so whatever somebody wrote into the payload, it must not fail.
-- Any other job that dies leaves a job behind that tells it in the audit trail, in the dead job's queue, where somebody
-- works. Two types do not: a delivery, because the event may be delivered to the very endpoint that fails, and the telling.
CREATE OR REPLACE FUNCTION bpc_tell_fate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $$
DECLARE
  named text;
BEGIN
  IF NEW.status = OLD.status OR (NEW.status = 'QUEUED' AND OLD.status NOT IN ('FAILED', 'DEAD_LETTER')) THEN
    RETURN NULL;
  END IF;

  IF NEW.type = 'DELIVER_WEBHOOK' THEN
    named := NEW.payload ->> 'webhook_delivery_id';
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
  ELSIF NEW.status = 'DEAD_LETTER' AND NEW.type <> 'RECORD_DEAD_LETTER' THEN
    INSERT INTO jobs (tenant_id, type, queue, payload, parent_job_id, correlation_id, traceparent)
    VALUES (NEW.tenant_id, 'RECORD_DEAD_LETTER', NEW.queue, jsonb_build_object('job_id', NEW.job_id), NEW.job_id,
            NEW.correlation_id, NEW.traceparent);
    IF current_setting('bpc.quiet', true) = 'on' THEN
      PERFORM pg_notify('bpc_jobs', '');  -- a quiet session rings for the jobs that it knows of
    END IF;
  END IF;
  RETURN NULL;
END
$$;

REVOKE EXECUTE ON FUNCTION bpc_tell_fate FROM PUBLIC;
