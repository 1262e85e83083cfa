-- A sign of life of this process, written: no row where it has not announced itself.
UPDATE workers SET seen_at = clock_timestamp()
WHERE worker_id = %(worker_id)s AND host = %(host)s AND pid = %(pid)s
RETURNING true AS written
