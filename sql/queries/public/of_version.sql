-- The battery whose version that is.
SELECT unique_identifier FROM public_passports WHERE passport_version_id = %(passport_version_id)s AND host = %(host)s
