"""What a pipeline left in the database, without what differs from run to run: ids, salts, times, actors."""

from tests.support.database import Database

_PARTS = {
    "documents": "SELECT kind, external_ref FROM documents",
    "versions": "SELECT encode(sha256, 'hex') AS sha256, status, errors::text FROM document_versions",
    "facts": "SELECT fact_type, fact_key, schema_version, encode(payload_hash, 'hex') AS hash FROM facts",
    "sources": (
        "SELECT fact_type, fact_key, encode(v.sha256, 'hex') AS document, pointer FROM fact_sources s"
        " JOIN facts USING (fact_id) JOIN document_versions v USING (document_version_id)"
    ),
    "snapshots": "SELECT status, count(*)::int AS n FROM data_snapshots GROUP BY status",
    "items": "SELECT fact_type, fact_key FROM snapshot_items JOIN facts USING (fact_id)",
    "passports": (
        "SELECT status,"
        " (convert_from(payload, 'UTF8')::jsonb - 'passport_id' - 'battery_product_id' - 'salt')::text"
        " AS payload,"
        " (convert_from(proof, 'UTF8')::jsonb -> 'field_index')::text AS proof,"
        " signature IS NOT NULL AS signed, qr_png IS NOT NULL AS has_code, law_date::text"
        " FROM passport_versions"
    ),
    "builds": "SELECT state, errors::text FROM passport_builds",
    "events": "SELECT aggregate_type, aggregate_version, event_type FROM events",
    "heads": "SELECT aggregate_type, aggregate_version FROM event_heads",
    "jobs": "SELECT type, status FROM jobs",
}


def picture(db: Database, *, without: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Comparable with that of another run over the same documents."""
    wanted = {name: query for name, query in _PARTS.items() if name not in without}
    return {name: sorted(str(row) for row in db.run(query)) for name, query in wanted.items()}
