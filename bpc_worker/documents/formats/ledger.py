"""What became of each value of a document: used in a fact, kept by its place, or refused."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.documents.checks import contradictions
from bpc_worker.documents.formats.places import Found, Steps, leaves, place
from bpc_worker.documents.model import FoundFact
from bpc_worker.documents.problems import Problems, pointer
from bpc_worker.documents.reading.decimal_text import text_of
from bpc_worker.documents.reading.json_text import Number, Unreadable

_DIGITS = 8  # of a hash: enough to tell contents of one name apart


@dataclass(slots=True)
class Ledger:
    document: Mapping[str, object]
    found: dict[tuple[str, str], dict[Steps, FoundFact]] = field(default_factory=dict)  # by type and key
    defects: dict[tuple[str, str], FoundFact] = field(default_factory=dict)  # said, but not usable
    refused: dict[Steps, str] = field(default_factory=dict)
    taken: set[Steps] = field(default_factory=set)  # leaves that are used or refused

    def take(self, found: Found) -> None:
        self.taken |= {steps for steps, _ in leaves(found.value, found.steps)} | found.chosen_by

    def use(self, fact_type: str, key: str, payload: Mapping[str, object], steps: Steps) -> None:
        self.found.setdefault((fact_type, key), {})[steps] = fact(fact_type, key, payload, steps)

    def refuse(self, steps: Steps, message: str) -> None:
        self.refused[steps] = message

    def refuse_named(self, fact_type: str, name: str, steps: Steps, why: str) -> None:
        """The fact stays, without its value: what was declared must not become "not declared"."""
        self.refuse(steps, f"{name}: {why}")
        self.defects.setdefault((fact_type, name), fact(fact_type, name, {"defect": why}, steps))

    def rest(self, below: Found) -> dict[str, object]:
        """The values in here that nothing has taken, by their place; now they are."""
        left = [each for each in leaves(below.value, below.steps) if each[0] not in self.taken]
        return dict(self._plain(left, len(below.steps)))

    def settle(self, form: str, problems: Problems) -> list[FoundFact]:
        """The facts, with what is left of the document in one of their own; what was refused is told."""
        self._refuse_doubles()
        self._refuse_contradictions()
        kept = self._kept(form)
        good = [each for same in self.found.values() for each in same.values()]
        defects = [each for key, each in self.defects.items() if key not in self.found]
        # A document of nothing but refused values is rejected for them.
        tell = problems.refuse if good or kept else problems.add
        for steps in self._in_order():
            tell(pointer(steps), self.refused[steps])
        return [*good, *defects, *kept]

    def _in_order(self) -> dict[Steps, None]:
        """What was refused, as it stands in the document."""
        outer = (steps[:depth] for steps, _ in leaves(self.document) for depth in range(len(steps) + 1))
        return dict.fromkeys(steps for steps in outer if steps in self.refused)

    def _refuse_doubles(self) -> None:
        """A name that has two values in one document."""
        for (fact_type, name), same in list(self.found.items()):
            first, *others = same.items()
            if any(each.payload != first[1].payload for _, each in others):
                del self.found[fact_type, name]
                for steps, each in same.items():
                    other = next(place(at) for at, it in same.items() if it.payload != each.payload)
                    self.refuse_named(fact_type, name, steps, f"{other} says otherwise; correct one of them")

    def _refuse_contradictions(self) -> None:
        values = {
            name: next(iter(same.values()))
            for (fact_type, name), same in self.found.items()
            if fact_type == "Value"
        }
        for names, why in list(contradictions(values)):
            for name in names:
                for steps in self.found.pop(("Value", name), {}):
                    self.refuse_named("Value", name, steps, why)

    def _kept(self, form: str) -> list[FoundFact]:
        kept = self.rest(Found((), self.document))
        if not kept:
            return []
        return [fact("Kept", f"kept:{form}:{digest(kept)}", {"form": form, "values": kept}, ())]

    def _plain(self, left: Iterable[tuple[Steps, object]], below: int) -> Iterator[tuple[str, object]]:
        """As canonical JSON writes them: integers that are safe stay integers, other numbers become texts."""
        for steps, value in left:
            self.taken.add(steps)
            if isinstance(value, Unreadable):
                self.refuse(steps, value.why)
            elif isinstance(value, Number):
                is_safe = value.whole and abs(value.value) <= MAX_INTEGER
                yield place(steps[below:]), int(value.value) if is_safe else text_of(value.value)
            else:
                yield place(steps[below:]), value


def fact(fact_type: str, key: str, payload: Mapping[str, object], steps: Steps) -> FoundFact:
    return FoundFact(
        fact_type=fact_type, fact_key=key, schema_version=1, payload=payload, pointer=pointer(steps)
    )


def digest(payload: object) -> str:
    return sha256_hex(canonical_json.encode(payload))[:_DIGITS]
