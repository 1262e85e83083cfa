-- Whether this login may bring into force what the gate holds back.
SELECT pg_has_role(session_user, 'bpc_release', 'MEMBER') AS may_release
