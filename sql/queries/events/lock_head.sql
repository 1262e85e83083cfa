-- Where the chain ends, held until the commit, and the time after the wait for it, never before that of the last event; of
-- a passport, which battery it is of. One row in any case.
SELECT greatest(clock_timestamp(), head.occurred_at) AS now, head.aggregate_version, head.event_hash,
       (SELECT jsonb_build_object('serial', passport.serial, 'unique_identifier', passport.unique_identifier,
                                  'product', product.identifier)
        FROM passports AS passport JOIN battery_products AS product USING (tenant_id, battery_product_id)
        WHERE %(aggregate_type)s = 'passport' AND passport.passport_id = %(aggregate_id)s
          AND passport.tenant_id = bpc_tenant()) AS battery
FROM (VALUES (true)) AS always
LEFT JOIN LATERAL bpc_lock_event_head(%(aggregate_type)s, %(aggregate_id)s) AS head ON true
