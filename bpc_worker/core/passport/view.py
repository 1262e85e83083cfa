"""BPC-VIEW-1: an SD-JWT (RFC 9901) that is signed once, and of which every audience is shown its own part.

The text is a JWS, then disclosures, each part followed by `~`. A view is cut from it by leaving disclosures
out; libraries do not see whether too many were, `view_check` does.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from bpc_worker.core.base import base64url
from bpc_worker.core.base.audience import seen_as
from bpc_worker.core.base.canonical_json import JsonValue, decode, encode
from bpc_worker.core.base.forms import FormError, Scalar, hash_text, raised_as, texts_of
from bpc_worker.core.base.messages import Kind, message
from bpc_worker.core.passport.disclosures import SetOf, digest, digests_of, parse_disclosure
from bpc_worker.core.passport.receipt import Receipt, receipt_hash
from bpc_worker.core.passport.view_text import DIGEST_NAME, END, VIEW_TYPE, ViewError, parse_view

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SIGNED_BYTES = 4096  # what key services take


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
