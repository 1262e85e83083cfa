SELECT bpc_end_session(%(session)s) AS ended
