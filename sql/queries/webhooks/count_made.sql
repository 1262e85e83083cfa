-- How many deliveries this transaction has made: triggers make them, and only the transaction can tell.
SELECT coalesce(NULLIF(current_setting('bpc.deliveries', true), ''), '0')::integer AS made
