-- Which migrations this database has, in order.
SELECT version, checksum, former_release_works FROM schema_migrations ORDER BY version
