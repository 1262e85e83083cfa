"""The golden batteries as the worker sees them: their facts, and what rules make of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

import yaml

from bpc_worker.core.passport.gaps import Gap, Report, report
from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.evaluated import Statement
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Empty, Fact, Value, published
from bpc_worker.documents.model import Accepted, Declared
from bpc_worker.documents.parse import parse_document
from bpc_worker.files.rules import read_rules
from tests.golden.documents import EXAMPLES
from tests.golden.expect import company

UNIQUE_IDENTIFIER = "https://id.example.eu/p/0123456789ABCDEF"


@cache
def rules() -> TypedModule:
    return load(read_rules("eu_battery"))


@cache
def facts_of(battery: str) -> tuple[Fact, ...]:
    """As a build would seal them."""
    folder = EXAMPLES / battery
    recipe = yaml.safe_load((folder / "passport.yaml").read_text(encoding="utf-8"))
    found: dict[tuple[str, str], Fact] = {}
    for entry in recipe["documents"]:
        declared = Declared(
            kind=entry["kind"],
            mime_type=entry["mime_type"],
            number_format=entry.get("number_format"),
            mapping=_mapping(battery, entry.get("mapping")),
        )
        parsed = parse_document((folder / entry["file"]).read_bytes(), declared)
        assert isinstance(parsed, Accepted), f"{battery} {entry['file']}: {parsed}"
        for fact in parsed.facts:
            made = make_fact(fact.fact_type, fact.fact_key, fact.payload)
            assert found.setdefault((fact.fact_type, fact.fact_key), made) == made, fact
    return (*found.values(), *_tables(battery, recipe))


def _mapping(battery: str, name: str | None) -> Mapping[str, object] | None:
    if name is None:
        return None
    told: Mapping[str, object] = yaml.safe_load((EXAMPLES / battery / name).read_text(encoding="utf-8"))
    return told


def _tables(battery: str, recipe: Mapping[str, Mapping[str, object]]) -> list[Fact]:
    told = company(battery)
    identity = {
        "serial": recipe["passport"],
        "granularity": "item",
        "unique_identifier": UNIQUE_IDENTIFIER,
    }
    return [
        make_fact("Identity", "identity", identity),
        make_fact("Product", "product", {**recipe["product"], **told["product"]}),
        make_fact("Operator", "operator", told["operator"]),
        make_fact("Facility", "facility", told["facility"]),
    ]


@dataclass(frozen=True)
class Made:
    """What the rules make of facts on a day."""

    values: Mapping[str, Value]
    statements: Mapping[str, Statement]
    report: Report

    @property
    def gaps(self) -> dict[str, Gap]:
        return {each.point: each for each in self.report.gaps}

    @property
    def filled(self) -> dict[str, object]:
        return {path: published(value) for path, value in self.values.items() if not isinstance(value, Empty)}

    @property
    def empty(self) -> dict[str, Empty]:
        return {path: value for path, value in self.values.items() if isinstance(value, Empty)}


def make(facts: Iterable[Fact], day: str) -> Made:
    module, law_date = rules(), date.fromisoformat(day)
    found = Evaluator(module, FactSet(tuple(facts)), law_date).run()
    return Made(
        found.fields,
        {each.code: each for each in found.statements},
        report(module.law, found.fields, found.statements, law_date),
    )
