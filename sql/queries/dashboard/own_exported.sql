-- Some of the tenant's own jobs as they are stored, each as the text of its JSON.
SELECT job_id, to_jsonb(own_jobs)::text AS line
FROM own_jobs WHERE job_id = ANY (%(job_ids)s::uuid[])
