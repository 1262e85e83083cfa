-- What a row must hold is looked at where it can change: a claim and an end no longer pay for the rest.
-- Former release: keeps working.
-- (It reads jobs once under a lock: about 0.2 s for a million rows in memory.)

-- PostgreSQL reads every CHECK of a table, and every WHEN of a trigger that is concerned, from its stored text again for
-- each UPDATE of each statement. So rules for columns that no claim and no end writes are triggers for those who do
-- write them. Each has the name, the condition and the error of the CHECK that it replaces. After the row and not before:
-- a trigger before it would make COPY insert row by row. Whoever calls this has found the value wrong.
CREATE FUNCTION bpc_refuse_value() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  given text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
  RAISE EXCEPTION 'new row for relation "%" violates check constraint "%": % is %, but must be %',
    TG_TABLE_NAME, TG_NAME, TG_ARGV[0],
    CASE WHEN length(given) > 100 THEN format('%s characters long', length(given)) ELSE format('"%s"', given) END,
    TG_ARGV[1]
    USING ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = TG_ARGV[0],
          CONSTRAINT = TG_NAME;
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_refuse_value FROM PUBLIC;

ALTER TABLE jobs
  DROP CONSTRAINT jobs_type_check,
  DROP CONSTRAINT jobs_queue_check,
  DROP CONSTRAINT jobs_priority_check,
  DROP CONSTRAINT jobs_max_attempts_check,
  DROP CONSTRAINT jobs_expected_duration_ms_check,
  DROP CONSTRAINT jobs_idempotency_key_check,
  DROP CONSTRAINT jobs_correlation_id_check,
  DROP CONSTRAINT jobs_traceparent_check,
  -- The same as before in fewer words: one constant for six, and created_at below.
  DROP CONSTRAINT jobs_status_check,
  ADD CONSTRAINT jobs_status_check CHECK (
    status = ANY ('{QUEUED,RUNNING,SUCCEEDED,FAILED,CANCELLED,DEAD_LETTER}')),
  DROP CONSTRAINT jobs_times_are_finite,
  ADD CONSTRAINT jobs_times_are_finite CHECK (scheduled_at >= '1970-01-01Z' AND scheduled_at < '9999-01-01Z');

-- As in a CHECK, what is NULL is not refused.
CREATE TRIGGER jobs_type_check AFTER INSERT OR UPDATE OF type ON jobs
FOR EACH ROW WHEN (NEW.type !~ '^[A-Z][A-Z0-9_]{2,}$' OR length(NEW.type) > 64)
EXECUTE FUNCTION bpc_refuse_value('type', '3 to 64 of A-Z, 0-9 and _, a letter first');
CREATE TRIGGER jobs_queue_check AFTER INSERT OR UPDATE OF queue ON jobs
FOR EACH ROW WHEN (length(NEW.queue) NOT BETWEEN 1 AND 100)
EXECUTE FUNCTION bpc_refuse_value('queue', '1 to 100 characters long');
CREATE TRIGGER jobs_priority_check AFTER INSERT OR UPDATE OF priority ON jobs
FOR EACH ROW WHEN (NEW.priority NOT BETWEEN 0 AND 3)
EXECUTE FUNCTION bpc_refuse_value('priority', '0 (urgent) to 3 (low)');
CREATE TRIGGER jobs_max_attempts_check AFTER INSERT OR UPDATE OF max_attempts ON jobs
FOR EACH ROW WHEN (NEW.max_attempts NOT BETWEEN 1 AND 1000000)
EXECUTE FUNCTION bpc_refuse_value('max_attempts', '1 to 1000000');
CREATE TRIGGER jobs_times_are_finite AFTER INSERT OR UPDATE OF created_at ON jobs
FOR EACH ROW WHEN (NEW.created_at < '1970-01-01Z' OR NEW.created_at >= '9999-01-01Z')
EXECUTE FUNCTION bpc_refuse_value('created_at', 'of the years 1970 to 9998');
CREATE TRIGGER jobs_expected_duration_ms_check AFTER INSERT OR UPDATE OF expected_duration_ms ON jobs
FOR EACH ROW WHEN (NEW.expected_duration_ms <= 0)
EXECUTE FUNCTION bpc_refuse_value('expected_duration_ms', 'more than 0');
CREATE TRIGGER jobs_idempotency_key_check AFTER INSERT OR UPDATE OF idempotency_key ON jobs
FOR EACH ROW WHEN (length(NEW.idempotency_key) NOT BETWEEN 1 AND 500)
EXECUTE FUNCTION bpc_refuse_value('idempotency_key', '1 to 500 characters long');
CREATE TRIGGER jobs_correlation_id_check AFTER INSERT OR UPDATE OF correlation_id ON jobs
FOR EACH ROW WHEN (length(NEW.correlation_id) > 500)
EXECUTE FUNCTION bpc_refuse_value('correlation_id', 'at most 500 characters long');
CREATE TRIGGER jobs_traceparent_check AFTER INSERT OR UPDATE OF traceparent ON jobs
FOR EACH ROW WHEN (length(NEW.traceparent) > 500)
EXECUTE FUNCTION bpc_refuse_value('traceparent', 'at most 500 characters long');

-- Not for a claim (QUEUED, and now with a lease) nor an end (it had one, and has none now): a row has a lease while it is
-- RUNNING and only then. One that breaks that rule here is refused by it a moment later.
CREATE OR REPLACE TRIGGER jobs_guard_edge BEFORE UPDATE OF status, attempts ON jobs
FOR EACH ROW WHEN (CASE WHEN NEW.lease_owner IS NULL THEN OLD.lease_owner IS NULL ELSE OLD.status <> 'QUEUED' END)
EXECUTE FUNCTION bpc_guard_job_edge();

-- What follows from the fate of a job.
-- A delivery shares it: FAILED when its job dies, PENDING when that is retried by hand. This runs inside every settle of
-- such a job, so whatever somebody wrote into the payload, it must not fail.
-- Any other job that dies leaves a job behind that tells it in the audit trail, in the dead job's queue, where somebody
-- works. Two types do not: a delivery, because the event may be delivered to the very endpoint that fails, and the telling.
CREATE FUNCTION bpc_tell_fate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
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
  END IF;
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION bpc_tell_fate FROM PUBLIC;

-- Neither a claim nor a success gets past the WHEN.
CREATE TRIGGER jobs_tell_fate AFTER UPDATE OF status ON jobs
FOR EACH ROW WHEN (NEW.lease_owner IS NULL AND NEW.status <> 'SUCCEEDED')
EXECUTE FUNCTION bpc_tell_fate();
DROP TRIGGER jobs_tell_delivery ON jobs;
DROP TRIGGER jobs_record_dead_letter ON jobs;
DROP FUNCTION bpc_tell_delivery, bpc_record_dead_letter;
