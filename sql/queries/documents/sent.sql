-- Under this name that version was sent last, unless another was sent later and its job was quicker.
UPDATE documents SET sent_version_id = %(document_version_id)s, sent_at = %(sent_at)s
WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND external_ref = %(external_ref)s
  AND coalesce(sent_at, %(sent_at)s) <= %(sent_at)s
