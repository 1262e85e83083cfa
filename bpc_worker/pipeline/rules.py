"""Rule packages: add a version, have it tested, publish it."""

import re
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.domain.events import Happened
from bpc_worker.domain.records import RulesVersion
from bpc_worker.domain.states import RulesStatus
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.again import again
from bpc_worker.rows import maybe, one

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class RuleTestOutcome(msgspec.Struct, frozen=True):
    name: str
    cases: int
    failure: str | None


class RuleTestRun(msgspec.Struct, frozen=True):
    job_id: UUID
    passed: bool
    cases: int
    seed: int
    tests: list[RuleTestOutcome]


class RulesDetail(RulesVersion, frozen=True):
    """A version with its text, and what the last run of its tests found."""

    tests_sha256: bytes
    created_at: datetime
    last_run: RuleTestRun | None
    dsl: str


async def add_rules(pipeline: PipelineSession, name: str, source: str) -> RulesVersion:
    """A DRAFT with the next number; the same text again is the version that is there."""
    if not _NAME.fullmatch(name):
        message = (
            f"{name!r} is no name of a rule package: letters, digits, _ . and - (a version comes after @)"
        )
        raise Permanent(Code.VALIDATION_ERROR, message)
    try:
        load(source)
    except RuleError as error:
        said = render(source, error).removeprefix(f"{error.code}: ").rstrip()
        hint = "mend it; `bpc-worker rules check FILE` checks it without a database"
        raise Permanent(error.code, f"{said}\n{hint}") from error
    params: dict[str, object] = {
        "tenant_id": pipeline.tenant_id,
        "name": name,
        "dsl": source,
        "dsl_sha256": sha256(source.encode()),
        "tests_sha256": sha256(text_of_tests(source).encode()),
    }

    return await _add(pipeline, params)


@again  # of two that add at the same moment, one takes the number of the other
async def _add(pipeline: PipelineSession, params: Mapping[str, object]) -> RulesVersion:
    async with pipeline.transaction() as tx:
        await tx.query("rules/add_package", params)
        await tx.query("rules/add_version", params)
        return one(await tx.query("rules/find_text", params), RulesVersion, "version of a rule package")


@again
async def run_rule_tests(pipeline: PipelineSession, wanted: str, *, seed: int = 0) -> JobId:
    """Queue the run of its own tests; VALIDATED when all pass and there are enough of them."""
    async with pipeline.transaction() as tx:
        version = await find_rules(pipeline, tx, wanted)
        payload = {"rule_package_version_id": str(version.rule_package_version_id), "seed": seed}
        return await tx.enqueue(NewJob(type="RUN_RULE_TESTS", payload=payload))


@again
async def publish_rules(pipeline: PipelineSession, wanted: str) -> RulesVersion:
    """From now on passports can be compiled with it. Published again, it is what it was."""
    async with pipeline.transaction() as tx:
        found = await find_rules(pipeline, tx, wanted)
        return await _publish(pipeline, tx, str(found.rule_package_version_id))


async def _publish(pipeline: PipelineSession, tx: Tx, version_id: str) -> RulesVersion:
    published = await tx.query(
        "rules/publish", {"tenant_id": pipeline.tenant_id, "rule_package_version_id": version_id}
    )
    version = await find_rules(pipeline, tx, version_id)
    if published:
        happened = Happened(
            event_type="RULES_PUBLISHED",
            aggregate_type="rules",
            aggregate_id=version.rule_package_version_id,
            payload={"dsl_sha256": version.dsl_sha256.hex()},
        )
        await pipeline.record(tx, happened)
    elif version.status != RulesStatus.PUBLISHED:
        label = f"{version.name}@{version.version}"
        hint = f"have it tested first: `bpc-worker rules run-tests {label} --wait`"
        if version.status == RulesStatus.RETIRED:
            hint = "add a new version: `bpc-worker rules add`"
        raise Permanent(Code.RULE_PKG_NOT_PUBLISHED, f"{label} is {version.status}, not VALIDATED; {hint}")
    return version


async def rules_detail(pipeline: PipelineSession, wanted: str) -> RulesDetail:
    async with pipeline.reading() as tx:
        version = await find_rules(pipeline, tx, wanted)
        params = {"tenant_id": pipeline.tenant_id, "rule_package_version_id": version.rule_package_version_id}
        return one(await tx.query("rules/show", params), RulesDetail, "version of a rule package")


async def find_rules(pipeline: PipelineSession, tx: Tx, wanted: str) -> RulesVersion:
    """By id, as `name`, the newest, or as `name@version`."""
    rows = await tx.query("rules/find", {"tenant_id": pipeline.tenant_id, "wanted": wanted})
    found = maybe(rows, RulesVersion)
    if found is None:
        raise Permanent(Code.NOT_FOUND, f"no rules {wanted!r}; `bpc-worker rules list` shows them")
    return found


async def published_rules(pipeline: PipelineSession, tx: Tx, name: str) -> RulesVersion:
    """The newest published version of a package, or the one that `name@version` names."""
    params = {"tenant_id": pipeline.tenant_id, "wanted": name}
    found = maybe(await tx.query("rules/find_published", params), RulesVersion)
    if found is None:
        raise Permanent(
            Code.RULE_PKG_NOT_PUBLISHED,
            f"no version of the rules {name!r} is published; `bpc-worker rules add`, then "
            "`bpc-worker rules run-tests`, then `bpc-worker rules publish`",
        )
    return found


async def list_rules(pipeline: PipelineSession) -> list[RulesVersion]:
    return await pipeline.rows("rules/list", RulesVersion)
