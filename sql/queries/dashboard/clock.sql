-- The database's time: every page says of when it is.
SELECT clock_timestamp() AS now
