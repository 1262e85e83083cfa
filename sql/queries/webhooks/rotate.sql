-- The secret of now becomes the former one for a while, unless there is to be no overlap.
UPDATE webhook_endpoints
SET former_secret = CASE WHEN %(overlap_seconds)s::double precision > 0 THEN secret END,
    former_until = CASE WHEN %(overlap_seconds)s::double precision > 0
                   THEN clock_timestamp() + make_interval(secs => %(overlap_seconds)s::double precision) END,
    secret = %(secret)s, public_key = %(public_key)s
WHERE tenant_id = %(tenant_id)s AND webhook_endpoint_id = %(webhook_endpoint_id)s
RETURNING former_until
