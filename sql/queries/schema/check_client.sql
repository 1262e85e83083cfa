-- A backend that works or waits for nobody notices it, where the server can do that (PostgreSQL 14).
SELECT set_config('client_connection_check_interval', %(milliseconds)s, %(local)s) AS done
WHERE current_setting('client_connection_check_interval', true) IS NOT NULL
