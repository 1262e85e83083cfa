-- The beginning of a document, to show the cells of a table that were refused.
SELECT substring(b.content FROM 1 FOR %(most)s) AS content, b.size
FROM document_versions AS v JOIN blobs AS b USING (tenant_id, sha256)
WHERE v.document_version_id = %(document_version_id)s
