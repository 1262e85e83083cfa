-- A document that a passport under that host names.
SELECT a.media_type, c.content
FROM public_hosts AS h
JOIN public_attachments AS a USING (tenant_id)
JOIN public_contents AS c USING (tenant_id, sha256)
WHERE h.host = %(host)s AND a.sha256 = %(sha256)s
LIMIT 1
