"""The facts that a proof names: by hash alone, or looked up in the facts at hand."""

from collections.abc import Mapping, Sequence

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.proof.values import (
    Seen,
    StepError,
    Unseen,
    attested,
    expect,
    read,
    read_hash,
    read_text,
    shown,
)
from bpc_worker.core.rules.declared import NOT_USABLE, READINGS, WORDS, answer, type_of
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.trace import Meter
from bpc_worker.core.rules.types import FACT, ListType, OptType
from bpc_worker.core.rules.values import Empty, Fact, encoded

_ONE = frozenset({"fact_type", "fact_key", "payload_hash"})
_MANY = frozenset({"fact_type", "prefix", "count", "list"})
_READ = _ONE | {"as", "result"}


class ProofFacts:
    """Answers a proof's FACT_GET steps; the same question always has the same answer."""

    def __init__(self, facts: FactSet | None, meter: Meter) -> None:
        self._facts = facts
        self._meter = meter
        self._answers: dict[tuple[str, str, bool | str], object] = {}
        self._hashed: set[tuple[str, str]] = set()

    def get(self, data: Mapping[str, object], names: Sequence[Seen]) -> Seen:
        if "as" in data:
            return self._declared(data, names)
        many = "prefix" in data
        if data.keys() != (_MANY if many else _ONE):
            raise StepError(f"{shown(sorted(data))} name no fact")
        fact_type, key = read_text(data["fact_type"]), read_text(data["prefix" if many else "fact_key"])
        if names:
            expect([each.form for each in names], [fact_type, key], "the name of a fact")
        seen = self._many(data, fact_type, key) if many else self._one(data["payload_hash"], fact_type, key)
        self._remember((fact_type, key, many), seen.form)
        return seen

    def _remember(self, asked: tuple[str, str, bool | str], form: object) -> None:
        expect(self._answers.setdefault(asked, form), form, "the same fact before")

    def _declared(self, data: Mapping[str, object], names: Sequence[Seen]) -> Seen:
        """One value out of a fact, as the language reads it; of a fact that is not at hand, attested."""
        function, _, word = read_text(data["as"]).partition(" ")
        if data.keys() != _READ or names or function not in READINGS or word not in WORDS:
            raise StepError(f"{shown(data)} reads no fact")
        fact_type, key = READINGS[function].fact_type, read_text(data["fact_key"])
        expect(data["fact_type"], fact_type, "the type of the fact")
        fact = self._one(data["payload_hash"], fact_type, key)
        self._remember((fact_type, key, False), fact.form)
        if isinstance(fact.value, Unseen):
            self._remember((fact_type, key, word), data["result"])
            return _attested(function, word, data["result"])
        value = answer(function, word, fact.value if isinstance(fact.value, Fact) else None)
        form = encoded(value)
        expect(data["result"], form, f"the value of fact {fact_type} {key}")
        return Seen(form, value)

    def _one(self, named: object, fact_type: str, key: str) -> Seen:
        if self._facts is not None:
            fact = self._facts.get(fact_type, key)
            found = None if fact is None else self._checked(fact)
            expect(named, found, f"the hash of fact {fact_type} {key}")
            return Seen(encoded(fact), fact)
        form = None if named is None else {"fact": [fact_type, key, read_hash(named)]}
        return Seen(form, read(form))

    def _many(self, data: Mapping[str, object], fact_type: str, prefix: str) -> Seen:
        named = {"count": data["count"], "list": data["list"]}
        if self._facts is None:
            return attested(named, ListType(FACT))
        facts = self._facts.by_prefix(fact_type, prefix)
        self._meter.spend(len(facts))
        for fact in facts:
            self._checked(fact)
        form = encoded(facts, self._meter.spend)
        expect(named, form, f"the facts {fact_type} {prefix}")
        return Seen(form, facts)

    def _checked(self, fact: Fact) -> str:
        """The fact's hash, from what it holds, computed once: whoever made the fact may have been wrong."""
        name = (fact.fact_type, fact.fact_key)
        if name not in self._hashed:
            try:
                found = sha256_hex(canonical_json.encode(fact.payload))
            except canonical_json.CanonicalJsonError as error:
                raise StepError(f"fact {name[0]} {name[1]}: {error}") from error
            expect(fact.payload_hash, found, f"the hash of fact {name[0]} {name[1]}")
            self._hashed.add(name)
        return fact.payload_hash


def _attested(function: str, word: str, form: object) -> Seen:
    """What a fact that is there can give: a value of the type, or that it is not usable."""
    value = read(form)
    if isinstance(value, Empty):
        if (value.kind, value.reason) != ("missing", NOT_USABLE) or value.detail is None:
            raise StepError(f"a fact that is there, and {shown(form)}")
        return Seen(form, value)
    kind = type_of(function, word)
    return attested(form, kind.of if isinstance(kind, OptType) else kind)
