"""The states that the worker knows are those that the database allows."""

import re
from enum import StrEnum

import pytest

from bpc_worker.core.base.signing import KeyStatus
from bpc_worker.domain import states
from tests.support.database import Database


@pytest.mark.parametrize(
    ("table", "column", "known"),
    [
        ("passport_builds", "state", states.BuildStatus),
        ("document_versions", "status", states.DocumentStatus),
        ("data_snapshots", "status", states.SnapshotStatus),
        ("rule_package_versions", "status", states.RulesStatus),
        ("passport_versions", "status", states.PassportStatus),
        ("webhook_endpoints", "status", states.EndpointStatus),
        ("webhook_deliveries", "status", states.DeliveryStatus),
        ("signing_keys", "status", KeyStatus),
    ],
)
def test_worker_and_database_know_the_same_states(
    db: Database, table: str, column: str, known: type[StrEnum]
) -> None:
    found = db.one(
        "SELECT pg_get_constraintdef(oid) AS said FROM pg_constraint"
        " WHERE conrelid = %s::regclass AND conname = %s",
        [table, f"{table}_{column}_check"],
    )

    assert re.findall(r"'(\w+)'::text", str(found["said"])) == [*known]
