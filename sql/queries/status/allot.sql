-- The place of a version in a status list of its issuer, given now or before.
SELECT status_list, status_idx FROM bpc_allot_status(%(passport_version_id)s::uuid, %(issuer)s::text)
