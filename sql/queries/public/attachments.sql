-- The documents that a version names.
SELECT encode(sha256, 'hex') AS sha256, kind, media_type, size, language, title FROM public_attachments
WHERE passport_version_id = %(passport_version_id)s
ORDER BY kind, language, title, sha256
