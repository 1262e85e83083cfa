-- A page of what is older than a day; less than a page: there are no more.
SELECT bpc_forget_api_requests(%(page)s) AS forgotten
