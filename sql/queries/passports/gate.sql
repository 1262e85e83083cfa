-- What keeps a version from coming into force: points of the law's list, and codes of findings.
SELECT code FROM bpc_gate(%(tenant_id)s, %(passport_version_id)s)
