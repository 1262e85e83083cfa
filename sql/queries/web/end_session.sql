-- Nobody is known by this session any more.
SELECT bpc_end_session(%(session)s) AS ended
