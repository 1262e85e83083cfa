-- Where the server keeps its data; nothing when our login may not know.
SELECT s.setting AS path, coalesce(inet_server_addr() = inet_client_addr(), true) AS same_machine
FROM pg_settings AS s
WHERE s.name = 'data_directory'
