-- Some jobs as they are stored, each as the text of its JSON.
SELECT job_id, (to_jsonb(jobs) - 'lease_token' - 'begun_token')::text AS line
FROM jobs WHERE job_id = ANY (%(job_ids)s::uuid[])
