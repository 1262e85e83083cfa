-- This process takes no more jobs.
DELETE FROM workers WHERE worker_id = %(worker_id)s AND host = %(host)s AND pid = %(pid)s
