-- Fix one place of a payload and run the job again.
SELECT bpc_patch_and_retry(%(job_id)s, %(path)s::text[], %(value)s::jsonb)
