"""The page of a passport: who, what, how it was checked, since when; every value as it was signed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bpc_worker.core.passport.disclosures import STATEMENTS
from bpc_worker.core.passport.receipt import issuer_of
from bpc_worker.domain.states import PassportStatus
from bpc_worker.web.layer.languages import Language
from bpc_worker.web.public.keeping import Kept
from bpc_worker.web.public.records import Attachment, Found, Mark, Model, Version
from bpc_worker.web.public.values import Part, part_of
from bpc_worker.web.public.verdicts import Verdict

GROUPS: Final = (
    ("battery", ("identity",)),
    ("maker", ("manufacturer", "operator", "facility")),
    ("performance", ("performance", "measured", "condition")),
    ("composition", ("composition",)),
    ("carbon", ("carbon",)),
    ("sourcing", ("due_diligence", "recycled")),
    ("handling", ("label", "safety", "instructions", "dismantling", "spares", "waste")),
    ("conformity", ("conformity", "completeness", "registry")),
)
_OTHERS: Final = "others"
# Said on top of the page, or in the list of documents.
_ELSEWHERE: Final = frozenset({"identity.unique_identifier", "attachments.public",
                               "conformity.declaration_documents"})  # fmt: skip
_FACTS: Final = ("identity.category", "identity.serial", "performance.rated_capacity",
                 "composition.mass")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    path: str
    part: Part


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    rows: Sequence[Row]
    without: Sequence[Row]  # points that have no value, and why


@dataclass(frozen=True, slots=True)
class Statement:
    code: str
    holds: bool
    message: str


@dataclass(frozen=True, slots=True)
class Badge:
    mark: Mark
    headline: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Life:
    """A version in the list of dates."""

    version_id: str
    status: str
    activated: str
    ended: str | None
    is_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PassportPage:
    identifier: str
    product: str
    maker: str | None
    badge: Badge
    notice: str | None  # in place of the values, or above them
    notice_link: str | None
    facts: Sequence[Row]
    groups: Sequence[Group]
    statements: Sequence[Statement]
    documents: Sequence[Attachment]
    lives: Sequence[Life]
    version: Version | None
    verdict: Verdict | None
    key: str | None
    language_links: Mapping[str, str]

    @property
    def issuer(self) -> str:
        return issuer_of(self.identifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedPage:
    identifier: str
    since: str
    language_links: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    language_links: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPage:
    address: str
    heading: str
    model: Model | None
    language_links: Mapping[str, str]


def passport_page(
    kept: Kept[Found], language: Language, links: Mapping[str, str], wrong_code: str | None
) -> PassportPage:
    found, verdict = kept.found, kept.verdict
    first, shown = found.versions[0], found.shown
    is_gone = shown is None or shown.status is PassportStatus.REVOKED
    fields = {} if is_gone or verdict is None or wrong_code else verdict.fields
    notice, link = _notice(found, language)
    return PassportPage(
        identifier=first.unique_identifier,
        product=first.product,
        maker=_text(fields.get("manufacturer.name")),
        badge=_badge(kept, language, is_gone=is_gone, wrong_code=wrong_code),
        notice=notice,
        notice_link=None if link is None else _here(link, first.unique_identifier),
        facts=[*_facts(fields, language)],
        groups=[*_groups(fields, language)],
        statements=[*_statements(fields)],
        documents=[] if not fields else found.attachments,
        lives=[_life(each, shown, language) for each in found.versions],
        version=shown if fields else None,
        verdict=verdict,
        key=None if verdict is None else verdict.key_id,
        language_links=links,
    )


def _here(link: str, identifier: str) -> str:
    """Without the host, where that is the one of this page."""
    host = issuer_of(identifier)
    return link.removeprefix(host) if issuer_of(link) == host else link


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _badge(kept: Kept[Found], language: Language, *, is_gone: bool, wrong_code: str | None) -> Badge:
    text, verdict, shown = language.text, kept.verdict, kept.found.shown
    force = text("badge.not_in_force" if shown is None or is_gone else f"badge.{shown.status.lower()}",
                 at=clock(kept.at), since="" if shown is None else day(shown.status_since))  # fmt: skip
    away = [] if kept.away_since is None else [text("badge.away", since=clock(kept.away_since))]
    if is_gone or verdict is None:
        return Badge(Mark.GREY, text("badge.nothing_to_check"), [force, *away])
    at = clock(verdict.at)
    if verdict.mark is Mark.BAD or wrong_code is not None:
        return Badge(Mark.BAD, text("badge.failed", at=at), [wrong_code or verdict.why, *away])
    if away:
        return Badge(Mark.GREY, text("badge.checked", at=at), [force, *away])
    if verdict.is_development:
        return Badge(Mark.GREY, text("badge.checked", at=at), [force, text("badge.development")])
    return Badge(Mark.GOOD, text("badge.checked", at=at), [force])


def _notice(found: Found, language: Language) -> tuple[str | None, str | None]:
    """What a reader must know before anything else, and where to go on."""
    shown, in_force = found.shown, found.in_force
    if shown is not None and shown.status is PassportStatus.ACTIVE:
        return None, None
    about = shown or found.versions[0]
    since = day(about.status_since)
    if about.status is PassportStatus.REVOKED:
        link = None if in_force is None else in_force.unique_identifier
        return language.text("notice.revoked", since=since), link
    if in_force is not None:
        return language.text("notice.superseded", since=since), in_force.unique_identifier
    if about.followed_by not in {None, about.unique_identifier}:
        return language.text("notice.followed", since=since), about.followed_by
    return language.text("notice.ended", since=since), None


def _facts(fields: Mapping[str, object], language: Language) -> Iterator[Row]:
    for path in _FACTS:
        part = part_of(fields.get(path), language)
        if part.kind != "empty":
            yield Row(label(path, language), path, part)


def _groups(fields: Mapping[str, object], language: Language) -> Iterator[Group]:
    of_name = {name: group for group, names in GROUPS for name in names}
    held: dict[str, list[Row]] = {group: [] for group in (*dict(GROUPS), _OTHERS)}
    for path in _in_order(fields, language):
        if path.startswith(STATEMENTS) or path in _ELSEWHERE:
            continue
        group = of_name.get(path.partition(".")[0], _OTHERS)
        held[group].append(Row(label(path, language), path, part_of(fields[path], language)))
    for group, rows in held.items():
        if rows:
            yield Group(
                language.text(f"group.{group}"),
                [each for each in rows if each.part.kind != "empty"],
                [each for each in rows if each.part.kind == "empty"],
            )


def _in_order(fields: Mapping[str, object], language: Language) -> list[str]:
    """As the texts have the points; those that nobody has named come last."""
    places = {name: place for place, name in enumerate(language.in_order)}
    return sorted(fields, key=lambda path: (places.get(f"point.{path}", len(places)), path))


def _statements(fields: Mapping[str, object]) -> Iterator[Statement]:
    for path in sorted(fields):
        value = fields[path]
        if path.startswith(STATEMENTS) and isinstance(value, dict):
            code = path.removeprefix(STATEMENTS)
            yield Statement(code, value.get("holds") is True, str(value.get("message", "")))


def _life(version: Version, shown: Version | None, language: Language) -> Life:
    ended = version.revoked_at or version.superseded_at
    return Life(
        version_id=str(version.passport_version_id),
        status=language.text(f"status.{version.status.lower()}"),
        activated=moment(version.activated_at),
        ended=None if ended is None else moment(ended),
        is_shown=version is shown,
    )


def label(path: str, language: Language) -> str:
    """What a point is called; a path that nobody has named says itself."""
    known = f"point.{path}"
    if language.has(known):
        return language.text(known)
    return path.rpartition(".")[2].replace("_", " ").capitalize()


def clock(at: datetime) -> str:
    return f"{at:%H:%M:%S} UTC"


def day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
