-- Some of its bytes, the first of all being number 1.
SELECT substr(content, %(first)s, %(count)s) AS part FROM blobs WHERE tenant_id = %(tenant_id)s AND sha256 = %(sha256)s
