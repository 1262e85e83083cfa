-- How many batteries the rows of a document name.
SELECT count(DISTINCT item) AS items FROM fact_sources
WHERE tenant_id = %(tenant_id)s AND document_version_id = %(document_version_id)s AND item IS NOT NULL
