-- Does the database answer, may we write, and what time is it there?
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS writable,
       clock_timestamp() AS now
