"""What statements of pages read: whole tables, or what an index points at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

# What may be large. A table that is not here has a row for each worker, key, queue or host.
LARGE = frozenset(
    [
        "api_requests", "blobs", "bulk_acts", "data_snapshots", "document_versions", "documents",
        "event_heads", "event_leaves", "events", "fact_sources", "facts", "job_events", "jobs",
        "passport_build_documents", "passport_builds", "passport_documents", "passport_lives",
        "passport_versions", "passports", "public_attachments", "public_contents", "public_passports",
        "registrations", "snapshot_items", "status_places", "webhook_deliveries",
    ]
)  # fmt: skip
_TITLE = 90


def nodes(plan: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield plan
    for below in cast("Sequence[Mapping[str, object]]", plan.get("Plans", ())):
        yield from nodes(below)


def whole_tables(told: Iterable[Mapping[str, object]]) -> dict[str, set[str]]:
    """By the beginning of a statement: the large tables that it reads from one end to the other."""
    found: dict[str, set[str]] = {}
    for each in told:
        tables = {str(node["Relation Name"]) for node in nodes(_plan(each)) if _reads_all(node)}
        if tables:
            found.setdefault(title(each), set()).update(tables)
    return found


def _plan(told: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", told["Plan"])


def _reads_all(node: Mapping[str, object]) -> bool:
    """A scan of the table, or of a whole index without a condition and without an end."""
    if node.get("Relation Name") not in LARGE:
        return False
    return node["Node Type"] == "Seq Scan"


def title(told: Mapping[str, object]) -> str:
    """What the file of a statement begins with, which says what it is for."""
    return " ".join(str(told["Query Text"]).split())[:_TITLE]
