-- How many bytes it has, if it is there; the bytes themselves, if they are few.
SELECT size, CASE WHEN size <= %(whole_up_to)s THEN content END AS content
FROM blobs
WHERE tenant_id = %(tenant_id)s AND sha256 = %(sha256)s
