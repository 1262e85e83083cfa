"""BPC-VIEW-1: an SD-JWT (RFC 9901) that is signed once, and of which every audience is shown its own part.

The text is a JWS, then disclosures, each part followed by `~`. A view is cut from it by leaving disclosures
out; libraries do not see whether too many were, `verify_view` does.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bpc_worker.core.base import base64url, signing
from bpc_worker.core.base.audience import seen_as
from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import FormError, Scalar, below, hash_text, raised_as, texts_of
from bpc_worker.core.base.messages import Kind, message
from bpc_worker.core.passport.disclosures import Disclosure, SetOf, digest, digests_of, parse_disclosure
from bpc_worker.core.passport.receipt import Receipt, receipt_hash
from bpc_worker.core.passport.view_text import DIGEST_NAME, END, VIEW_TYPE, ViewError, ViewText, parse_view

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMED_AT_MOST = 5
_SIGNED_BYTES = 4096  # what key services take


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


def claims(receipt: Receipt, fields: bytes) -> bytes:
    """What is signed of a view, canonical: all of it follows from the receipt and the claim `fields`."""
    texts: dict[str, Scalar] = {
        "_sd_alg": DIGEST_NAME,
        "iss": receipt.issuer,
        "sub": receipt.unique_identifier,
        "law_date": receipt.law_date,
        "passport_version_id": receipt.passport_version_id,
        "vct": VIEW_TYPE,
        "receipt_hash": receipt_hash(receipt),
    }
    others: dict[str, JsonValue] = {
        "iat": (receipt.issued_at - _EPOCH) // timedelta(seconds=1),
        "rules": {"name": receipt.rules_name, "sha256": hash_text(receipt.dsl_sha256)},
        "status": {"status_list": {"idx": receipt.status_list_idx, "uri": receipt.status_list_uri}},
        "audiences": list(receipt.audiences),
        "fields": decode(fields),
    }
    found = encode(texts_of(texts) | others)
    size = len(message(Kind.VIEW, found, receipt.signing_key_id))
    if size > _SIGNED_BYTES:
        hint = "the rules have too many different sets of audiences, or a name is very long"
        raise ViewError("", f"what is signed of a view has at most {_SIGNED_BYTES} bytes, not {size}: {hint}")
    return found


def jws(canonical_claims: bytes, key_id: str, signature: bytes) -> str:
    """The signed part of a view."""
    signed = message(Kind.VIEW, canonical_claims, key_id).decode("ascii")
    return f"{signed}.{base64url.encode(signature)}"


def assemble(signed: str, disclosures: Iterable[str]) -> str:
    """A view with all these disclosures."""
    return "".join(f"{part}{END}" for part in (signed, *disclosures))


@raised_as(ViewError)
def cut(sd_jwt: str, audience: str) -> str:
    """What this audience may see, of a view that has at least that; it is not signed again."""
    view = parse_view(sd_jwt)
    names = seen_as(audience, view.claims.audiences)
    if not names:
        listed = ", ".join(view.claims.audiences)
        raise FormError("/claims/audiences", f"there is nothing for {audience!r}; it is for {listed}")
    by_digest = {digest(text): text for text in view.disclosures}
    own = [one for one in view.claims.sets if not set(names).isdisjoint(one.audiences)]
    return assemble(view.signed, [text for one in own for text in _texts_of(one, by_digest)])


def _texts_of(one: SetOf, by_digest: Mapping[str, str]) -> Iterator[str]:
    """The disclosure of a set, then those of its fields in order of path."""
    around = _there(one.digest, by_digest)
    inner = [_there(wanted, by_digest) for wanted in digests_of(parse_disclosure(around))]
    yield around
    yield from sorted(inner, key=lambda text: parse_disclosure(text).name)


def _there(wanted: str, by_digest: Mapping[str, str]) -> str:
    if wanted not in by_digest:
        raise FormError("/disclosures", f"the one with the digest {wanted} is missing")
    return by_digest[wanted]


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
