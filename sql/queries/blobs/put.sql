-- Bytes of the tenant that the transaction has named; the same again are there already.
SELECT bpc_put_blob(%(content)s) AS sha256
