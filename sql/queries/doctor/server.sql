-- Who answers, who are we there, may we write, and what time is it.
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::integer AS version_number,
       pg_is_in_recovery() AS in_recovery, current_setting('default_transaction_read_only') = 'on' AS read_only,
       current_database()::text AS database, current_user::text AS login, inet_client_port() AS client_port,
       extract(epoch FROM clock_timestamp())::float8 AS now
