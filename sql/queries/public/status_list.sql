-- A list of that issuer, as it was signed last.
SELECT token FROM status_lists
WHERE status_list = %(status_list)s AND issuer = 'https://' || %(host)s::text AND token IS NOT NULL
