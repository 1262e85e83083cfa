-- Whether it was in force until now.
SELECT bpc_revoke_token(%(token_id)s) AS revoked
