-- The keys of a host's tenant that signatures may be verified with.
SELECT k.key_id, k.public_key, k.status, k.purposes FROM public_hosts AS h JOIN public_keys AS k USING (tenant_id)
WHERE h.host = %(host)s AND k.status IN ('ACTIVE', 'RETIRED')
ORDER BY k.key_id, k.public_key
