-- Whether identifiers stand under that host.
SELECT EXISTS (SELECT FROM public_hosts WHERE host = %(host)s) AS is_known
