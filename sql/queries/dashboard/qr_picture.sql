-- The picture of a version's code.
SELECT qr_png FROM passport_versions WHERE passport_version_id = %(id)s AND qr_png IS NOT NULL
