-- With what the public may see of it; whether there is such a version, signed.
SELECT bpc_publish(%(passport_version_id)s, %(view)s, %(operator)s, %(facility)s) AS published
