"""What the law asks for and a passport lacks: as it was stored, or as it would be on another day."""

from dataclasses import dataclass, replace
from datetime import date
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.core.passport.gaps import Gap, Report, gaps, report
from bpc_worker.core.rules.evaluate import Evaluator, Statement
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.law import Law
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.values import Fact
from bpc_worker.domain.checked_rules import checked_rules
from bpc_worker.domain.gap_reports import read_report
from bpc_worker.domain.stored import StoredFact, read_stored
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.passports import ListedVersion, find_version, named
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.rows import all_of, value


class _ModelRow(msgspec.Struct, frozen=True):
    gap: str | None
    batteries: int
    place: int
    law: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Of one version, every point; or of all batteries of a model those that some lack, and how many do."""

    of: str
    law: str | None
    gaps: tuple[tuple[Gap, int], ...]
    batteries: int = 1
    battery_class: str | None = None
    law_date: date | None = None
    findings: tuple[Statement, ...] = ()


def _of_version(version: ListedVersion, day: date, found: Report) -> Gaps:
    return Gaps(
        of=f"{version.serial} of {version.product}, version {version.passport_version_id}",
        law=found.law,
        gaps=tuple((each, int(each.is_open)) for each in found.gaps),
        battery_class=found.battery_class,
        law_date=day,
        findings=found.findings,
    )


async def read_version_report(pipeline: PipelineSession, passport_version_id: UUID) -> Report:
    """As it was compiled."""
    async with pipeline.reading() as tx:
        return await _report(pipeline, tx, passport_version_id)


async def _report(pipeline: PipelineSession, tx: Tx, passport_version_id: UUID) -> Report:
    params = {"tenant_id": pipeline.tenant_id, "passport_version_id": passport_version_id}
    return read_report(value(await tx.query("passports/read_gaps", params), bytes))


async def read_gaps(pipeline: PipelineSession, wanted: str) -> Gaps:
    """As it was compiled: by the id of a version, or by that of a passport or a serial number, its newest."""
    async with pipeline.reading() as tx:
        found = await find_version(pipeline, tx, wanted)
        read = await _report(pipeline, tx, found.passport_version_id)
    return _of_version(found, found.law_date, read)


async def gaps_if(
    pipeline: PipelineSession, wanted: str, *, law_date: date | None, battery_class: str | None
) -> Gaps:
    """What its facts would lack on another day, or if the battery were of another class.

    Of a model, by the identifier of its product: its newest version stands for all.
    """
    async with pipeline.reading() as tx:
        newest = await tx.query("passports/newest_of_model", named(pipeline, wanted))
        found = await find_version(pipeline, tx, str(value(newest, UUID)) if newest else wanted)
        stored = await read_stored(tx, pipeline.tenant_id, found.passport_version_id)
    day = law_date or found.law_date
    made = _evaluated(stored.row.dsl, [_fact(each) for each in stored.facts], day, battery_class)
    return _of_version(found, day, made)


async def model_gaps(pipeline: PipelineSession, wanted: str) -> Gaps | None:
    """Of a model, by the identifier of its product; None where no battery of it has a passport."""
    async with pipeline.reading() as tx:
        found = await tx.query("passports/model_gaps", named(pipeline, wanted))
    total, *rows = all_of(found, _ModelRow)
    if not total.batteries:
        return None
    gaps_of_all = tuple((msgspec.json.decode(each.gap or "", type=Gap), each.batteries) for each in rows)
    of = f"model {wanted}, {total.batteries} batteries"
    return Gaps(of=of, law=total.law, gaps=gaps_of_all, batteries=total.batteries)


def _evaluated(dsl: str, facts: list[Fact], day: date, battery_class: str | None) -> Report:
    try:
        rules = checked_rules(dsl)
        made = Evaluator(rules, FactSet(facts), day, prove=False).run()
    except RuleError as error:
        raise Permanent(error.code, render(dsl, error)) from error
    found = report(rules.law, made.fields, made.statements, day)
    if rules.law is None or battery_class is None:
        return found
    _check_class(rules.law, battery_class)
    of_class = gaps(rules.law, made.fields, day, battery_class)
    return replace(found, battery_class=battery_class, gaps=of_class)


def _check_class(law: Law, battery_class: str) -> None:
    if battery_class not in law.classes:
        known = ", ".join(law.classes)
        raise Permanent(Code.VALIDATION_ERROR, f"{battery_class!r} is no class of the law's list: {known}")


def _fact(stored: StoredFact) -> Fact:
    payload = canonical_json.decode(stored.canonical)
    if not isinstance(payload, dict):
        raise Permanent(Code.RECEIPT_MISMATCH, f"fact {stored.fact_type} {stored.fact_key} is no object")
    return make_fact(stored.fact_type, stored.fact_key, payload)
