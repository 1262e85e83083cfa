-- How many passport versions there are in formats that are no longer read.
SELECT count(*), min(compiler_build_id) FROM passport_versions
WHERE compiler_build_id = ANY (%(build_ids)s::text[])
HAVING count(*) > 0
