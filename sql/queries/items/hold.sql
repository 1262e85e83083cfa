-- One at a time makes snapshots of a product's batteries: so none is made twice.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'items', %(battery_product_id)s::text), 0)) IS NULL AS held
