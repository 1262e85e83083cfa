-- From now on nothing of it is claimed; what runs goes on.
SELECT bpc_pause(%(kind)s, %(name)s, %(reason)s, %(expires_at)s::timestamptz)
