-- Nothing comes back when it was there already, be it another tenant's.
INSERT INTO id_hosts (host, tenant_id) VALUES (%(host)s, %(tenant_id)s)
ON CONFLICT DO NOTHING
RETURNING host
