-- Slots that nobody reads from: they keep the log, and perhaps dead rows, until the disk is full.
SELECT s.slot_name::text AS name, s.slot_type AS type, coalesce(s.xmin, s.catalog_xmin) IS NOT NULL AS keeps_rows,
       CASE WHEN s.restart_lsn IS NOT NULL AND NOT pg_is_in_recovery()
            THEN pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint END AS bytes
FROM pg_replication_slots AS s
WHERE NOT s.active AND NOT s.temporary AND (s.restart_lsn IS NOT NULL OR s.xmin IS NOT NULL)
ORDER BY s.slot_name
LIMIT 20
