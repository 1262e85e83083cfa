"""What is answered at the address of a battery or a model, in each format."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from bpc_worker.core.passport import dpp
from bpc_worker.domain.states import PassportStatus
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.layer.answers import Answer, Page, Raw
from bpc_worker.web.layer.languages import all_languages, choose
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.templates import render
from bpc_worker.web.public import links
from bpc_worker.web.public.addresses import Address
from bpc_worker.web.public.keeping import Keeper, Kept
from bpc_worker.web.public.page import EndedPage, ModelPage, day, passport_page
from bpc_worker.web.public.reading import PublicTables
from bpc_worker.web.public.records import Found, Mark, Version
from bpc_worker.web.public.verdicts import Verdict, verdict_on

HTML: Final = "text/html; charset=utf-8"
PAGE, VIEW, JSON, LINKS = "html", "sd-jwt", "json", "linkset"
_BY_MEDIA_TYPE: Final = {
    "text/html": PAGE, links.MEDIA_TYPE: LINKS, links.VIEW_TYPE: VIEW, links.JSON_TYPE: JSON,
    "application/ld+json": JSON,
}  # fmt: skip
_MOST_SAME = 20_000
_GONE, _NOT_ACCEPTABLE, _OK, _NOT_FOUND, _BROKEN = 410, 406, 200, 404, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`receipt_hash`: what a BPC1 code says that the version is about."""

    address: Address
    version: UUID | None = None
    receipt_hash: bytes | None = None
    format: str | None = None
    link_type: str | None = None
    language: str | None = None


class Passports:
    def __init__(self, tables: PublicTables, keeper: Keeper[Found], misses: Buckets, models: Buckets) -> None:
        self._tables = tables
        self._keeper = keeper
        self._misses = misses
        self._models = models
        self._same: dict[Hashable, tuple[Kept[Found], Hashable]] = {}

    async def find(self, address: Address, version: UUID | None) -> Kept[Found]:
        """What is known of it; where that is nothing, the host is one of ours."""

        async def read() -> Found:
            if address.identifier is None:
                return await self._tables.model(address.host, address.gtin)
            return await self._tables.battery(address.host, address.identifier, address.gtin, version)

        kept = await self._keeper.get((address, version), read)
        if not kept.found.host_is_known:
            raise Refused(_NOT_FOUND, Code.NOT_FOUND, "this server has no passports for this host")
        found = kept.found
        if found.shown is not None and kept.verdict is None:
            kept.verdict = verdict_on(found.shown, found.keys, kept.at)
        return kept

    def again(self, asked: Hashable) -> Raw | None:
        """What was answered to the very same question, while it is fresh: the way of most requests."""
        found = self._same.get(asked)
        if found is None or not self._keeper.is_fresh(found[0]):
            return None
        return self._dated(*found)

    async def answer(self, request: Request, wanted: Wanted, asked: Hashable) -> Answer:
        """`asked`: all that the answer depends on, as it came."""
        kept = await self.find(wanted.address, wanted.version)
        found, wanted_format = kept.found, _format(request, wanted)
        if not found.versions and wanted.address.identifier is not None:
            self._count_miss(request, wanted.address)
        if wanted.version is not None and found.versions and found.shown is None:
            raise _nothing("the passport has no such version")
        if wanted.language is not None:
            request = replace(request, languages=(wanted.language, *request.languages))
        language = choose(request.languages).tag if wanted_format == PAGE else ""
        what = (wanted_format, wanted.receipt_hash, wanted.link_type, language, request.origin.prefix)
        made = kept.answers.get(what)
        if made is None:
            made = await self._made(request, wanted, kept, wanted_format)
            self._keeper.put((wanted.address, wanted.version), kept, what, made)
        if len(self._same) >= _MOST_SAME:
            self._same.clear()
        self._same[asked] = kept, what
        return self._dated(kept, what)

    def _dated(self, kept: Kept[Found], what: Hashable) -> Raw:
        """With the time that is left of it. The same object for a second: its tag is computed once."""
        made, caching = kept.answers[what], self._keeper.caching(kept)
        if made.cache != caching:
            headers = {**made.headers, **_age(kept, self._keeper)}
            made = kept.answers[what] = replace(made, cache=caching, headers=headers)
        return made

    def _count_miss(self, request: Request, address: Address) -> None:
        waits = [self._misses.wait(request.address)]
        if address.gtin is not None:
            waits.append(self._models.wait(f"{address.host} {address.gtin}"))
        if max(waits) > 0:
            raise Refused(
                429, Code.RATE_LIMITED, "too many serials without a passport were asked for",
                headers={"Retry-After": str(max(1, round(max(waits))))},
            )  # fmt: skip

    async def _made(self, request: Request, wanted: Wanted, kept: Kept[Found], wanted_format: str) -> Raw:
        found, address = kept.found, wanted.address
        if found.versions and found.versions[0].recycled_at is not None:
            return _ended(request, wanted, found.versions[0], wanted_format)
        if wanted_format == PAGE:
            return _page(request, wanted, kept)
        if wanted_format == LINKS:
            return _linkset(address, found)
        if wanted_format == links.PREFIX:
            return await self._document(address, found, wanted.link_type or "")
        shown, verdict = _vouched(kept)
        headers = _headers(address)
        if wanted_format == VIEW:
            return Raw((shown.view or "").encode(), links.VIEW_TYPE, headers=headers)
        return Raw(json_of(shown, verdict), links.JSON_TYPE, headers=headers)

    async def _document(self, address: Address, found: Found, link_type: str) -> Raw:
        """What a link of that type leads to: one document, without a way round."""
        attachment = links.attachment_of(found.attachments, links.link_type_of(link_type))
        content = None
        if attachment is not None:
            content = await self._tables.content(address.host, bytes.fromhex(attachment.sha256))
        if attachment is None or content is None:
            raise _nothing(f"there is no link of the type {link_type[:60]!r}")
        where = {"Content-Location": f"/attachments/{attachment.sha256}"}
        return Raw(content.content, content.media_type, headers=where | _headers(address))


def json_of(version: Version, verdict: Verdict) -> bytes:
    """After EN 18223, as `passport export --format dpp` writes it."""
    header = dpp.Header(
        passport_id=version.passport_id,
        unique_identifier=version.unique_identifier,
        granularity=version.granularity,
        status=version.status,
        status_since=version.status_since,
        operator=_by_scheme(version.economic_operator),
        facility=_by_scheme(version.facility),
    )
    return dpp.dpp(header, verdict.fields)


def _by_scheme(text: str | None) -> dict[str, str]:
    scheme, _, value = (text or "").partition(":")
    return {scheme: value} if value else {}


def _vouched(kept: Kept[Found]) -> tuple[Version, Verdict]:
    """The version that is shown, and what was signed of it; for programs there is nothing in between."""
    shown, verdict = kept.found.shown, kept.verdict
    if shown is None or verdict is None or shown.status is PassportStatus.REVOKED:
        raise _nothing("no passport is published here, or none is in force any more")
    if verdict.mark is Mark.BAD:
        raise Refused(
            _BROKEN, Code.SIGNATURE_INVALID, "what is stored is not what was signed: nothing is handed out",
            next_="`bpc-worker passport replay` and `bpc-worker public refill --all` are for its operator",
        )  # fmt: skip
    return shown, verdict


def _format(request: Request, wanted: Wanted) -> str:
    if wanted.format is not None:
        if wanted.format not in {PAGE, VIEW, JSON, LINKS}:
            raise Permanent(Code.VALIDATION_ERROR, "format is one of html, json, linkset, sd-jwt")
        return wanted.format
    if wanted.link_type in {"linkset", "all"}:
        return LINKS
    if wanted.link_type is not None and links.link_type_of(wanted.link_type) not in links.WITHOUT_DOCUMENTS:
        return links.PREFIX
    liked = request.wants(*_BY_MEDIA_TYPE)
    if liked is None:
        offered = ", ".join(_BY_MEDIA_TYPE)
        raise Refused(_NOT_ACCEPTABLE, Code.VALIDATION_ERROR, f"this is to be had as {offered}")
    return _BY_MEDIA_TYPE[liked]


def _page(request: Request, wanted: Wanted, kept: Kept[Found]) -> Raw:
    language, found = choose(request.languages), kept.found
    more = language_links(wanted)
    if not found.versions:
        model, is_battery = found.model, wanted.address.identifier is not None
        absent = language.text("public.absent")
        heading = model.name if model is not None and not is_battery else absent
        record = ModelPage(address=wanted.address.url, heading=heading, model=model, language_links=more)
        status = _OK if model is not None else _NOT_FOUND
        return _rendered("public/model.html", record, request, wanted.address, status)
    wrong = None
    claims = None if kept.verdict is None else kept.verdict.claims
    if wanted.receipt_hash is not None and claims is not None and claims.receipt_hash != wanted.receipt_hash:
        wrong = language.text("badge.code")
    record_of = passport_page(kept, language, more, wrong)
    return _rendered("public/passport.html", record_of, request, wanted.address, _OK)


def language_links(wanted: Wanted) -> dict[str, str]:
    version = "" if wanted.version is None else f"&version={wanted.version}"
    return {tag: f"?lang={tag}{version}" for tag in all_languages()}


def _rendered(template: str, record: object, request: Request, address: Address, status: int) -> Raw:
    body = render(Page(template, record), request)
    return Raw(body, HTML, status, headers=_headers(address) if status == _OK else {})


def _linkset(address: Address, found: Found) -> Raw:
    if found.versions:
        title = found.versions[0].product
        shown = found.shown is not None and found.shown.status is not PassportStatus.REVOKED
        body = links.linkset(address, title, found.attachments if shown else (), has_passport=shown)
    elif found.model is not None:
        above = Address(address.host, None, address.gtin)
        body = links.linkset(above, found.model.name, (), has_passport=False)
    else:
        raise _nothing("no passport is published here")
    return Raw(body, links.MEDIA_TYPE, headers=_headers(address))


def _ended(request: Request, wanted: Wanted, version: Version, wanted_format: str) -> Raw:
    since = day(version.recycled_at or version.status_since)
    if wanted_format != PAGE:
        raise Refused(_GONE, Code.NOT_FOUND, f"the battery was recycled: its passport ended on {since}")
    record = EndedPage(
        identifier=version.unique_identifier, since=since, language_links=language_links(wanted)
    )
    return _rendered("public/ended.html", record, request, wanted.address, _GONE)


def _headers(address: Address) -> dict[str, str]:
    return {"Link": f'<{address.url}?linkType=linkset>; rel="linkset"; type="{links.MEDIA_TYPE}"'}


def _age(kept: Kept[Found], keeper: Keeper[Found]) -> dict[str, str]:
    return {} if kept.away_since is None else {"Age": str(keeper.age(kept))}


def _nothing(why: str) -> Refused:
    return Refused(_NOT_FOUND, Code.NOT_FOUND, why)
