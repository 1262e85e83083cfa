"""Rule packages: add a version, have it tested, publish it."""

from uuid import UUID

import msgspec

from bpc_worker.core.hashing import sha256
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.evidence import Happened
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob
from bpc_worker.owner.session import Owner
from bpc_worker.rows import all_of, maybe, one


class RulesVersion(msgspec.Struct, frozen=True):
    rule_package_version_id: UUID
    name: str
    version: int
    status: str
    dsl_sha256: bytes


async def add_rules(owner: Owner, name: str, source: str) -> RulesVersion:
    """A DRAFT with the next number; the same text again is the version that is there."""
    try:
        load(source)
    except RuleError as error:
        raise Permanent(error.code, render(source, error)) from error
    params: dict[str, object] = {
        "tenant_id": owner.tenant_id,
        "name": name,
        "dsl": source,
        "dsl_sha256": sha256(source.encode()),
        "tests_sha256": sha256(text_of_tests(source).encode()),
    }
    async with owner.transaction() as tx:
        await tx.query("rules/add_package", params)
        await tx.query("rules/add_version", params)
        return one(await tx.query("rules/find_text", params), RulesVersion, "version of a rule package")


async def run_rule_tests(owner: Owner, wanted: str, *, seed: int = 0) -> JobId:
    """Queue the run of its own tests; VALIDATED when all pass and there are enough of them."""
    async with owner.transaction() as tx:
        version = await find_rules(owner, tx, wanted)
        payload = {"rule_package_version_id": str(version.rule_package_version_id), "seed": seed}
        return await tx.enqueue(NewJob(type="RUN_RULE_TESTS", payload=payload))


async def publish_rules(owner: Owner, wanted: str) -> RulesVersion:
    """From now on passports can be compiled with it. Published again, it is what it was."""
    async with owner.transaction() as tx:
        version = await find_rules(owner, tx, wanted)
        if version.status == "PUBLISHED":
            return version
        params = {
            "tenant_id": owner.tenant_id,
            "rule_package_version_id": version.rule_package_version_id,
        }
        if not await tx.query("rules/publish", params):
            hint = "have it tested first: `bpc-worker rules run-tests`"
            message = f"{version.name} version {version.version} is {version.status}, not VALIDATED; {hint}"
            raise Permanent(Code.RULE_PKG_NOT_PUBLISHED, message)
        await owner.record(
            tx,
            Happened(
                event_type="RULES_PUBLISHED",
                aggregate_type="rules",
                aggregate_id=version.rule_package_version_id,
                payload={"dsl_sha256": version.dsl_sha256.hex()},
            ),
        )
        return await find_rules(owner, tx, str(version.rule_package_version_id))


async def find_rules(owner: Owner, tx: Tx, wanted: str) -> RulesVersion:
    """By id, as `name`, the newest, or as `name@version`."""
    rows = await tx.query("rules/find", {"tenant_id": owner.tenant_id, "wanted": wanted})
    found = maybe(rows, RulesVersion)
    if found is None:
        raise Permanent(Code.NOT_FOUND, f"no rules {wanted!r}; add them with `bpc-worker rules add`")
    return found


async def published_rules(owner: Owner, tx: Tx, name: str) -> RulesVersion:
    """The newest published version of a package, or the one that `name@version` names."""
    params = {"tenant_id": owner.tenant_id, "wanted": name}
    found = maybe(await tx.query("rules/find_published", params), RulesVersion)
    if found is None:
        raise Permanent(
            Code.RULE_PKG_NOT_PUBLISHED,
            f"no version of the rules {name!r} is published; `bpc-worker rules add`, then "
            "`bpc-worker rules run-tests`, then `bpc-worker rules publish`",
        )
    return found


async def list_rules(owner: Owner) -> list[RulesVersion]:
    async with owner.reading() as tx:
        return all_of(await tx.query("rules/list", {"tenant_id": owner.tenant_id}), RulesVersion)
