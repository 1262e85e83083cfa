-- A job of the tenant by its id.
SELECT 'job' AS what, job_id AS id, type AS name, tenants.name AS tenant
FROM own_jobs JOIN tenants USING (tenant_id) WHERE job_id = %(id)s
