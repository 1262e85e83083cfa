-- Whether the tenant that the transaction has named has a host for its identifiers.
SELECT EXISTS (SELECT FROM id_hosts AS h WHERE h.tenant_id = bpc_tenant()) AS has_host
