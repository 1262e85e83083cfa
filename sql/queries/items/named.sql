-- The batteries that the rows of a document name, so many of them behind the last one seen.
SELECT DISTINCT s.item
FROM fact_sources AS s
WHERE s.tenant_id = %(tenant_id)s AND s.document_version_id = %(document_version_id)s AND s.item > %(after)s
ORDER BY s.item
LIMIT %(limit)s::bigint
