-- Of all tenants.
SELECT bpc_disabled_endpoints() AS disabled
