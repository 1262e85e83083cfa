"""Check a view: its signature, its disclosures, and whether an audience sees all it may, and no more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bpc_worker.core.base import signing
from bpc_worker.core.base.audience import seen_as
from bpc_worker.core.base.forms import FormError, below, raised_as
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.passport.disclosures import Disclosure, SetOf, digest, digests_of, parse_disclosure
from bpc_worker.core.passport.view_text import ViewError, ViewText, parse_view

_NAMED_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class Held:
    """What a view holds of one set of audiences."""

    audiences: tuple[str, ...]
    values: Mapping[str, object]  # by path
    missing: int  # disclosures that are named and not there
    is_there: bool  # the set's own disclosure; without it nobody knows what else is missing

    @property
    def is_complete(self) -> bool:
        return self.is_there and not self.missing


@dataclass(frozen=True, slots=True)
class VerifiedView:
    """A view whose signature is good, and whose every disclosure is what was signed."""

    text: ViewText
    sets: tuple[Held, ...]

    @property
    def fields(self) -> dict[str, object]:
        """All that it shows, by path; statements as `compliance.CODE`."""
        return {path: value for held in self.sets for path, value in held.values.items()}

    @property
    def complete(self) -> tuple[str, ...]:
        """The audiences that see here all they may see, and nothing else."""
        return tuple(name for name in self.text.claims.audiences if self.fault(name) is None)

    @property
    def is_whole(self) -> bool:
        """It shows all there is."""
        return all(held.is_complete for held in self.sets)

    def fault(self, audience: str) -> str | None:
        """Why it is not the view of this audience; None if it is."""
        names = seen_as(audience, self.text.claims.audiences)
        if not names:
            return f"has nothing for {audience}: it is for {', '.join(self.text.claims.audiences)}"
        own = [held for held in self.sets if not set(names).isdisjoint(held.audiences)]
        surplus = [held for held in self.sets if held not in own and held.is_there]
        if surplus:
            paths = sorted(path for held in surplus for path in held.values)
            named = ", ".join(paths[:_NAMED_AT_MOST]) or f"what is for {', '.join(surplus[0].audiences)}"
            return f"holds more than {audience} may see: {named}"
        absent = sum(held.missing if held.is_there else 1 for held in own)
        if absent:
            listed = "; ".join(", ".join(held.audiences) for held in own if not held.is_complete)
            return f"{absent} missing for {audience}, of what is for {listed}"
        return None


@raised_as(ViewError)
def verify_view(
    text: str,
    registry: signing.KeyRegistry,
    *,
    audience: str | None = None,
    unique_identifier: str | None = None,
) -> VerifiedView:
    """What a view shows. ViewError, with the place, for what was not signed or is not this audience's view.

    Without an audience it is complete for at least one, or has everything.
    """
    view = parse_view(text)
    try:
        public_key = registry.key(view.key_id, Kind.VIEW).public_key
        signing.verify_ed25519(public_key, view.message, view.signature)
    except signing.SignatureError as error:
        raise FormError("/signature", str(error)) from None
    found = VerifiedView(view, _held(view))
    is_about = view.claims.unique_identifier
    if unique_identifier is not None and unique_identifier != is_about:
        raise FormError("/claims/sub", f"another battery: expected {unique_identifier}, found {is_about}")
    if audience is not None and (fault := found.fault(audience)) is not None:
        raise FormError("/disclosures", fault)
    if audience is None and not found.is_whole and not found.complete:
        faults = "; ".join(found.fault(name) or "" for name in view.claims.audiences)
        raise FormError("/disclosures", f"it is complete for nobody: {faults}")
    return found


class _Unused:
    """The disclosures of a text, each to be taken once by what names it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._left: dict[str, tuple[int, str]] = {}
        for at, text in enumerate(texts):
            name = digest(text)
            if name in self._left:
                raise FormError(f"/disclosures/{at}", f"the same as number {self._left[name][0]}")
            self._left[name] = at, text

    def take(self, wanted: str) -> tuple[int, Disclosure] | None:
        if wanted not in self._left:
            return None
        at, text = self._left.pop(wanted)
        return at, below(f"disclosures/{at}", parse_disclosure, text)

    def check_empty(self) -> None:
        for at, _ in self._left.values():
            raise FormError(f"/disclosures/{at}", "nothing that was signed names it: it was changed or added")


def _held(view: ViewText) -> tuple[Held, ...]:
    unused = _Unused(view.disclosures)
    paths: set[str] = set()
    sets = tuple(_held_of(one, unused, paths) for one in view.claims.sets)
    unused.check_empty()
    return sets


def _held_of(one: SetOf, unused: _Unused, paths: set[str]) -> Held:
    around = unused.take(one.digest)
    if around is None:
        return Held(one.audiences, {}, 0, is_there=False)
    place, inner = around
    wanted = below(f"disclosures/{place}", digests_of, inner)
    values: dict[str, object] = {}
    for found in filter(None, map(unused.take, wanted)):
        at, shown = found
        if shown.name in paths:
            raise FormError(f"/disclosures/{at}", f"another {shown.name}")
        paths.add(shown.name)
        values[shown.name] = shown.value
    return Held(one.audiences, values, len(wanted) - len(values), is_there=True)
