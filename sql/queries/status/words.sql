-- What a list has to tell now.
SELECT issuer, as_of, active, revoked, superseded FROM bpc_status_words(%(status_list)s::integer)
