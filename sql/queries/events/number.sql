-- Numbers events of the tenant that have no leaf yet; less than a page: there are no more.
SELECT bpc_number_events(%(page)s) AS numbered
