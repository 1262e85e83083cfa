-- What changes when anything does that a page shows: the ends of a few indexes, and what runs now.
SELECT (SELECT max(job_event_id) FROM job_events) AS event,
       (SELECT max(finished_at) FROM jobs WHERE status IN ('SUCCEEDED', 'CANCELLED')) AS ended_at,
       (SELECT max(finished_at) FROM jobs WHERE status IN ('DEAD_LETTER', 'FAILED')) AS died_at,
       (SELECT job_id FROM jobs ORDER BY job_id DESC LIMIT 1) AS newest_job,
       (SELECT max(job_pause_event_id) FROM job_pause_events) AS pause_event,
       (SELECT string_agg(concat_ws(' ', job_id, stage, progress), ',' ORDER BY job_id) FROM (
          SELECT job_id, stage, progress FROM jobs WHERE lease_expires_at IS NOT NULL
          ORDER BY lease_expires_at DESC LIMIT 500) AS running) AS running,
       (SELECT string_agg(concat_ws(' ', bulk_act_id, touched, status), ',' ORDER BY bulk_act_id) FROM (
          SELECT bulk_act_id, touched, status FROM bulk_acts ORDER BY bulk_act_id DESC LIMIT 20) AS acts) AS acts,
       (SELECT event_id FROM events ORDER BY event_id DESC LIMIT 1) AS newest_event
