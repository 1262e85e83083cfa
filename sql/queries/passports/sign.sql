-- Nothing comes back when it was signed before.
UPDATE passport_versions SET status = 'SIGNED', signature = %(signature)s, view_signature = %(view_signature)s,
  public_key = %(public_key)s
WHERE tenant_id = %(tenant_id)s AND passport_version_id = %(passport_version_id)s AND status = 'COMPILING'
  AND receipt_hash = %(receipt_hash)s
RETURNING passport_version_id
