-- Has a suspect been due for so long that a busy worker should empty itself for it?
SELECT EXISTS (
  SELECT FROM jobs
  WHERE status = 'QUEUED' AND fail_code = 'LEASE_EXPIRED' AND attempts >= 2
    AND scheduled_at <= coalesce(%(now)s::timestamptz, now()) - make_interval(secs => %(patience_seconds)s)
    AND type = ANY (%(types)s::text[]) AND queue = ANY (%(queues)s::text[])
) AS waiting
