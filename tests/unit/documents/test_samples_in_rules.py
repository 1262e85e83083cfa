"""Forms of others under the rules of EU passports: what they say is read, and never denied."""

import json
from collections.abc import Iterable
from datetime import date
from functools import cache

import pytest

from bpc_worker.core.rules.evaluate import Evaluator
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.reads import ANY, Reads, names_read, readers
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Empty
from bpc_worker.documents.model import FoundFact
from bpc_worker.files.rules import read_rules
from tests.support.published import published

from .foreign import EVERY
from .sending import JSON, facts
from .test_samples import NAMES


@cache
def rules() -> tuple[TypedModule, Reads]:
    module = load(read_rules("eu_battery"))
    return module, names_read(module)


def _check(found: Iterable[FoundFact]) -> None:
    module, reads = rules()
    named = {(fact.fact_type, fact.fact_key): fact for fact in found if fact.fact_type != "Kept"}
    assert [name for name in named if not readers(reads, *name)] == []
    held = FactSet(make_fact(*name, fact.payload) for name, fact in named.items())
    fields = Evaluator(module, held, date(2028, 8, 18)).run().fields
    for path in (path for path, value in fields.items() if value == Empty("missing", "not declared")):
        single = {name for name, paths in reads.items() if path in paths and not name[1].endswith(ANY)}
        assert not single or not single <= named.keys(), f"{path}: {single} was declared"


@pytest.mark.parametrize("name", EVERY)
def test_what_a_document_says_is_read_and_not_denied(name: str) -> None:
    document, kind = EVERY[name]
    _check(facts(json.dumps(document), kind, mime=JSON))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_sample_says_is_read_and_not_denied(name: str) -> None:
    _check(facts((published("samples") / name).read_bytes(), NAMES[name], mime=JSON))
