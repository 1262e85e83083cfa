"""Links of a battery or a model, after RFC 9264 and GS1's Digital Link: a default, and others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from bpc_worker.web.layer.languages import all_languages
from bpc_worker.web.public.addresses import Address
from bpc_worker.web.public.records import Attachment

MEDIA_TYPE: Final = "application/linkset+json"
VOCABULARY: Final = "https://gs1.org/voc/"
PREFIX: Final = "gs1:"

VIEW_TYPE: Final = "application/dc+sd-jwt"
JSON_TYPE: Final = "application/json"
_DEFAULT, PASSPORT = "defaultLink", "dpp"
# What GS1 calls links to our kinds of documents.
_OF_KIND: Final[Mapping[str, str]] = {
    "declaration_of_conformity": "certificationInfo",
    "instructions": "instructions",
    "dismantling": "serviceInfo",
    "safety": "safetyInfo",
    "test_report": "certificationInfo",
    "due_diligence_report": "sustainabilityInfo",
    "carbon_study": "sustainabilityInfo",
    "waste": "recyclingInfo",
    "other": "relatedInfo",
}
WITHOUT_DOCUMENTS: Final = frozenset({_DEFAULT, PASSPORT, "pip"})


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    href: str
    title: str
    type: str
    hreflang: tuple[str, ...] | None = None


def link_type_of(wanted: str) -> str:
    """`gs1:dpp`, its URL or `dpp`, without what stands before the word."""
    return wanted.removeprefix(VOCABULARY).removeprefix(PREFIX)


def attachment_of(attachments: Sequence[Attachment], link_type: str) -> Attachment | None:
    return next((each for each in attachments if _OF_KIND.get(each.kind, "relatedInfo") == link_type), None)


def linkset(address: Address, title: str, attachments: Sequence[Attachment], *, has_passport: bool) -> bytes:
    """JSON; a model has its page alone."""
    targets: dict[str, list[Target]] = {}
    for name, target in _targets(address, title, attachments, has_passport=has_passport):
        targets.setdefault(f"{VOCABULARY}{name}", []).append(target)
    return msgspec.json.encode({"linkset": [{"anchor": address.url, **targets}]})


def _targets(
    address: Address, title: str, attachments: Sequence[Attachment], *, has_passport: bool
) -> Iterator[tuple[str, Target]]:
    languages = tuple(all_languages())
    page = Target(address.url, title, "text/html", languages)
    yield _DEFAULT, page
    yield "pip", page
    if not has_passport:
        return
    yield PASSPORT, page
    yield PASSPORT, Target(f"{address.url}?format=sd-jwt", title, VIEW_TYPE)
    yield PASSPORT, Target(f"{address.url}?format=json", title, JSON_TYPE)
    for each in attachments:
        name = each.title or each.kind.replace("_", " ")
        spoken = None if each.language is None else (each.language,)
        href = f"https://{address.host}/attachments/{each.sha256}"
        yield _OF_KIND.get(each.kind, "relatedInfo"), Target(href, name, each.media_type, spoken)
