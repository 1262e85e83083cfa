-- Take up to `wanted` tokens from a bucket that fills by `per_second` up to `burst` (sql/functions/rate_limits.sql).
SELECT taken, wait_seconds
FROM bpc_take_tokens(ARRAY[%(key)s::text], ARRAY[%(per_second)s::double precision], ARRAY[%(burst)s::double precision],
                     ARRAY[%(wanted)s::integer], %(now)s::timestamptz)
