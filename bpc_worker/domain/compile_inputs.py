"""What a passport version is compiled from, as it lies in the database: for whoever compiles or signs it.

The hashes are checked here, in the worker itself: what a child says about its inputs counts for nothing.
"""

from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.snapshot import (
    FactRef,
    SealedSnapshot,
    SnapshotError,
    check_facts,
    open_snapshot,
)
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.domain.mismatch import Mismatch, check_same
from bpc_worker.domain.records import Fact, Passport, RulesText, SnapshotBytes
from bpc_worker.handler_api import Code, Permanent, Reading
from bpc_worker.rows import all_of, one


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRows:
    """Of one view of the database; whether they fit together, `checked` says."""

    passport: Passport
    snapshot: SnapshotBytes
    facts: list[Fact]
    rules: RulesText


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileInputs:
    """Facts that make the snapshot that was sealed, and rules whose hashes are those of their text."""

    passport: Passport
    snapshot: SealedSnapshot
    facts: list[Fact]
    rules: RulesText


async def read_inputs(
    reading: Reading, tenant_id: UUID, *, passport_id: UUID, snapshot_id: UUID, rule_package_version_id: UUID
) -> InputRows:
    """NOT_FOUND for what the tenant does not have."""
    tenant: dict[str, object] = {"tenant_id": tenant_id}
    of_snapshot = tenant | {"snapshot_id": snapshot_id}
    of_rules = tenant | {"rule_package_version_id": rule_package_version_id}
    passports = await reading.query("passports/read", tenant | {"passport_id": passport_id})
    return InputRows(
        passport=one(passports, Passport, "passport"),
        snapshot=one(await reading.query("snapshots/read", of_snapshot), SnapshotBytes, "snapshot"),
        rules=one(await reading.query("rules/read", of_rules), RulesText, "version of a rule package"),
        facts=all_of(await reading.query("snapshots/facts", of_snapshot), Fact),
    )


def checked(rows: InputRows) -> CompileInputs:
    """SNAPSHOT_NOT_READY while it is not sealed, RECEIPT_MISMATCH for a hash that is not of its bytes."""
    rules = rows.rules
    check_same("dsl_sha256", rules.dsl_sha256, sha256(rules.dsl.encode()))
    check_same("tests_sha256", rules.tests_sha256, _tests_sha256(rules.dsl))
    return CompileInputs(
        passport=rows.passport, snapshot=_snapshot(rows.snapshot, rows.facts), facts=rows.facts, rules=rules
    )


def _snapshot(row: SnapshotBytes, facts: list[Fact]) -> SealedSnapshot:
    if row.canonical is None or row.snapshot_hash is None:
        raise Permanent(Code.SNAPSHOT_NOT_READY, f"the snapshot is {row.status}, not SEALED")
    try:
        sealed = open_snapshot(row.canonical, row.snapshot_hash)
        check_same("snapshot_id", sealed.snapshot_id, row.snapshot_id)
        check_facts(
            sealed, (FactRef(each.fact_type, each.fact_key, sha256(each.canonical)) for each in facts)
        )
    except SnapshotError as error:
        raise Mismatch("snapshot_hash", str(error)) from error
    return sealed


@lru_cache(maxsize=16)  # passports of one tenant share a few texts
def _tests_sha256(dsl: str) -> bytes:
    return sha256(text_of_tests(dsl).encode())
