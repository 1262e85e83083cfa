"""What became of every value of a document: which fields use it, or that it is kept or refused."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.reads import names_read, readers
from bpc_worker.domain.states import DocumentStatus, RulesStatus
from bpc_worker.pipeline.documents import (
    DocumentDetail,
    FactFound,
    Mistake,
    document_detail,
    document_facts,
)
from bpc_worker.pipeline.rules import RulesDetail, list_rules, rules_detail
from bpc_worker.pipeline.session import PipelineSession

_MEASUREMENT = ("measured_at", "source")
_WITHIN = ("further", "defects")  # of a row: what is kept with it, and what of it was refused

Readers = Callable[[str, str], tuple[str, ...]]  # of a fact, by type and key: the fields that read it


class Fate(StrEnum):
    USED = "used"
    KEPT = "kept"
    REFUSED = "refused"


class ValueSeen(msgspec.Struct, frozen=True):
    fate: Fate
    place: str
    name: str = ""  # under which it is a fact
    value: object = None
    fields: tuple[str, ...] = ()  # that use it
    message: str = ""  # why it was refused


class DocumentValues(DocumentDetail, frozen=True):
    """A version with every value that it holds."""

    rules: list[str]  # by whose fields "used" is meant
    values: list[ValueSeen]


async def document_values(
    pipeline: PipelineSession, wanted: str, *, rules: str | None = None
) -> DocumentValues:
    """By these rules; without a name, by the newest published version of each package."""
    detail = await document_detail(pipeline, wanted)
    texts = [await rules_detail(pipeline, name) for name in await _names(pipeline, rules)]
    facts = await document_facts(pipeline, str(detail.document_version_id))
    refused = [] if detail.status == DocumentStatus.REJECTED else detail.errors
    return DocumentValues(
        **msgspec.structs.asdict(detail),
        rules=[f"{each.name}@{each.version}" for each in texts],
        values=values_of(facts, refused, _readers(texts)),
    )


async def _names(pipeline: PipelineSession, rules: str | None) -> list[str]:
    if rules is not None:
        return [rules]
    published = [each for each in await list_rules(pipeline) if each.status == RulesStatus.PUBLISHED]
    newest = {each.name: each for each in published}  # they come by name and number
    return [f"{each.name}@{each.version}" for each in newest.values()]


def _readers(texts: Iterable[RulesDetail]) -> Readers:
    reads = [names_read(load(each.dsl)) for each in texts]

    def fields(fact_type: str, fact_key: str) -> tuple[str, ...]:
        found = (path for each in reads for path in readers(each, fact_type, fact_key))
        return tuple(dict.fromkeys(found))

    return fields


def values_of(facts: Iterable[FactFound], refused: Iterable[Mistake], fields: Readers) -> list[ValueSeen]:
    """Used first, then kept, then refused; each in the order of the facts, or of the document."""
    seen = [value for fact in facts for value in _of_fact(fact, fields)]
    seen += [ValueSeen(Fate.REFUSED, each.where, message=each.message) for each in refused]
    return sorted(seen, key=lambda each: [*Fate].index(each.fate))


def _of_fact(fact: FactFound, fields: Readers) -> Iterator[ValueSeen]:
    payload = msgspec.json.decode(fact.canonical, type=dict[str, object])
    if fact.fact_type == "Kept":
        yield from _kept("", payload.get("values"))
        return
    if "defect" in payload:  # it is among those that were refused
        return
    readers_ = fields(fact.fact_type, fact.fact_key)
    fate = Fate.USED if readers_ else Fate.KEPT
    for name, value in _members(fact, payload):
        yield ValueSeen(fate, fact.pointer, name, value, readers_)
    yield from _kept(fact.pointer, payload.get("further"))


def _members(fact: FactFound, payload: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    if fact.fact_type in {"Value", "Measured"}:
        yield fact.fact_key, payload.get("value")
        for name in _MEASUREMENT:
            if name in payload:
                yield f"{fact.fact_key} {name}", payload[name]
        return
    for name, value in payload.items():
        if name not in _WITHIN:
            yield f"{fact.fact_type} {name}", value


def _kept(place: str, values: object) -> Iterator[ValueSeen]:
    for step, value in values.items() if isinstance(values, dict) else ():
        below = step if step.startswith("/") else f" {step}"  # a column has a title, not a place of its own
        yield ValueSeen(Fate.KEPT, f"{place}{below}", value=value)
