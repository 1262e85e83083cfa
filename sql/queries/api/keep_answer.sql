-- With what the call did, in one transaction.
UPDATE api_requests SET status = %(status)s, answer = %(answer)s
WHERE tenant_id = %(tenant_id)s AND api_request_id = %(api_request_id)s
