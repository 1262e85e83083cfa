-- When a session of this token ends that begins now; NULL: the token is good for nothing.
SELECT bpc_begin_session(%(token)s, %(session)s, %(seconds)s) AS ends
