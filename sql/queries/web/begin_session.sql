SELECT bpc_begin_session(%(token)s, %(session)s, %(seconds)s) AS ends
