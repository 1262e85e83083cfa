-- How many workers with so many slots there is work for.
SELECT bpc_desired_workers(%(slots)s::integer) AS workers
