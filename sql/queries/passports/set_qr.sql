-- Nothing comes back when it had its code before.
UPDATE passport_versions SET qr_payload = %(qr_payload)s, qr_png = %(qr_png)s
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s AND qr_payload IS NULL
RETURNING passport_version_id
