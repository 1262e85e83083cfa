"""The public door: what a phone opens that has scanned the code on a battery."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from time import monotonic
from typing import Final
from urllib.parse import urlencode

import msgspec

from bpc_worker.domain.records import SigningKey
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.layer.answers import Answer, Page, Raw, SeeOther
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Door, Handle, Route
from bpc_worker.web.layer.templates import STATIC, render
from bpc_worker.web.parts import Parts
from bpc_worker.web.public import wellknown
from bpc_worker.web.public.addresses import Address, version_of, with_gtin, without_gtin
from bpc_worker.web.public.keeping import Keeper
from bpc_worker.web.public.page import HomePage
from bpc_worker.web.public.passports import HTML, Passports, Wanted, language_links
from bpc_worker.web.public.reading import PublicTables
from bpc_worker.web.public.records import Found

_ROBOTS: Final = b"User-agent: *\nDisallow: /\n"
_JSON: Final = "application/json"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")
_HAS_PORT: Final = re.compile(r":[0-9]+$")
_MODELS: Final = 10  # times as many misses of one model as of one address


class Query(msgspec.Struct, frozen=True, rename={"link_type": "linkType"}):
    """What an address may be asked with; GS1 has others, and they are left alone."""

    version: str | None = None
    format: str | None = None
    lang: str | None = None
    link_type: str | None = None


class HomeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str | None = None
    lang: str | None = None


class PublicDoor:
    def __init__(self, parts: Parts) -> None:
        settings = parts.settings.public
        self._loopback_host = settings.loopback_host
        self._tables = PublicTables(parts.database)
        kept, stale = settings.kept_seconds, settings.stale_seconds
        self._found = Keeper[Found](kept, stale, clock=monotonic)
        self._keys = Keeper[list[SigningKey] | None](kept, stale, clock=monotonic)
        self._lists = Keeper[str | None](kept, stale, clock=monotonic)
        misses, burst = settings.misses_per_second, settings.misses_burst
        self._passports = Passports(
            self._tables, self._found, Buckets(misses, burst), Buckets(misses * _MODELS, burst * _MODELS)
        )

    def forget(self) -> None:
        """Something that is shown here has changed."""
        for each in (self._found, self._keys, self._lists):
            each.change()

    def routes(self) -> list[Route]:
        says = "The passport of a battery, or its model."
        qualified = ["".join(f"/{{q{n}}}/{{v{n}}}" for n in range(count)) for count in range(4)]
        odd = ["/{a}", "/{a}/{b}/{c}", "/{a}/{b}/{c}/{d}/{e}"]
        keys = self._of_keys
        gtin, own = self._quickly(self._with_gtin), self._quickly(self._without_gtin)
        return [
            *(_get(path, gtin, says, Query) for each in qualified for path in _both(each)),
            *(_get(f"/01/{{gtin}}{each}", _odd, "Refused: a qualifier without a value.") for each in odd),
            *(_get(path, own, says, Query) for path in ("/p/{id}", "/p/{id}/")),
            _get("/attachments/{sha256}", self._attachment, "A document that a passport names."),
            _get("/status/{number}", self._status_list, "Which versions are in force, signed."),
            _get("/.well-known/jwks.json", keys(wellknown.jwks), "The keys of the host."),
            _get("/.well-known/jwt-vc-issuer", keys(wellknown.issuer), "The issuer and its keys."),
            _get("/keys.json", keys(wellknown.key_file), "The keys, for `passport verify`."),
            _get("/.well-known/gs1resolver", self._resolver, "What this resolver does."),
            _get("/robots.txt", _robots, "Nothing here is for search engines."),
            _get("/", self._home, "Where the text of a code is looked up.", HomeQuery),
            STATIC,
        ]

    def _host(self, request: Request) -> str:
        """Of identifiers: without a port."""
        host = request.host.rpartition(":")[0] if _HAS_PORT.search(request.host) else request.host
        if self._loopback_host is not None and _is_loopback(host):
            return self._loopback_host
        return host

    async def _with_gtin(self, request: Request) -> Answer:
        args = request.path_args
        qualifiers = [(args[f"q{n}"], args[f"v{n}"]) for n in range(3) if f"q{n}" in args]
        return await self._passport(request, with_gtin(self._host(request), args["gtin"], qualifiers))

    async def _without_gtin(self, request: Request) -> Answer:
        return await self._passport(request, without_gtin(self._host(request), request.path_args["id"]))

    async def _passport(self, request: Request, address: Address) -> Answer:
        query = request.asked(Query)
        version = version_of(query.version)
        wanted = Wanted(
            address=address,
            version=None if version is None else version[0],
            receipt_hash=None if version is None else version[1],
            format=query.format,
            link_type=query.link_type,
            language=query.lang,
        )
        return await self._passports.answer(request, wanted, _asked(request))

    def _quickly(self, handle: Handle) -> Handle:
        """A question that was answered a moment ago is not taken apart again."""

        async def answer(request: Request) -> Answer:
            return self._passports.again(_asked(request)) or await handle(request)

        return answer

    async def _attachment(self, request: Request) -> Answer:
        name = request.path_args["sha256"]
        if not _SHA256.fullmatch(name):
            raise _nothing("a document is named by its SHA-256")
        found = await self._tables.content(self._host(request), bytes.fromhex(name))
        if found is None:
            raise _nothing("no passport names such a document")
        headers = {"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Disposition": "inline"}
        return Raw(found.content, found.media_type, headers=headers)

    async def _status_list(self, request: Request) -> Answer:
        host, number = self._host(request), request.path_args["number"]
        if not _NUMBER.fullmatch(number):
            raise _nothing("a status list has a number")

        async def read() -> str | None:
            return await self._tables.status_list(host, int(number))

        kept = await self._lists.get((host, number), read)
        if kept.found is None:
            raise _nothing("there is no such status list, or nobody has signed it yet")
        return Raw(kept.found.encode(), wellknown.STATUS_TYPE, cache=self._lists.caching(kept))

    def _of_keys(self, made: Callable[[str, Sequence[SigningKey]], bytes]) -> Handle:
        async def answer(request: Request) -> Answer:
            host = self._host(request)
            kept = await self._keys.get(host, lambda: self._tables.keys(host))
            if kept.found is None:
                raise _nothing("this server has no passports for this host")
            return Raw(made(host, kept.found), _JSON, cache=self._keys.caching(kept))

        return answer

    async def _resolver(self, request: Request) -> Answer:
        host = self._host(request)
        kept = await self._keys.get(host, lambda: self._tables.keys(host))
        if kept.found is None:
            raise _nothing("this server has no passports for this host")
        return Raw(wellknown.resolver(host), _JSON)

    async def _home(self, request: Request) -> Answer:
        query, host = request.asked(HomeQuery), self._host(request)
        if query.code is not None:
            return await self._scanned(host, query.code.strip())
        if query.lang is not None:
            request = replace(request, languages=(query.lang, *request.languages))
        kept = await self._keys.get(host, lambda: self._tables.keys(host))
        if kept.found is None:
            raise _nothing("this server has no passports for this host")
        record = HomePage(language_links=language_links(Wanted(address=Address(host))))
        return Raw(render(Page("public/home.html", record), request), HTML)

    async def _scanned(self, host: str, code: str) -> Answer:
        """To the version that the text of a BPC1 code names."""
        version = version_of(code)
        identifier = None if version is None else await self._tables.identifier_of(host, version[0])
        if identifier is None:
            raise _nothing("no passport with this version is published here")
        path = identifier.removeprefix(f"https://{host}")
        return SeeOther(f"{path}?{urlencode({'version': code})}")


def _asked(request: Request) -> Hashable:
    headers, origin = request.headers, request.origin
    accept, languages = headers.get("Accept"), headers.get("Accept-Language")
    return origin.host, origin.prefix, request.path, request.query, accept, languages


def _get(path: str, handle: Handle, says: str, query: type | None = None) -> Route:
    return Route("GET", path, handle, OPEN, query=query, says=says)


def _both(qualified: str) -> tuple[str, str]:
    """With and without a slash at the end."""
    return f"/01/{{gtin}}{qualified}", f"/01/{{gtin}}{qualified}/"


async def _odd(_: Request) -> Answer:
    raise Permanent(Code.VALIDATION_ERROR, "every qualifier of a GTIN has a value behind it")


async def _robots(_: Request) -> Answer:
    return Raw(_ROBOTS, "text/plain; charset=utf-8")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _nothing(why: str) -> Refused:
    return Refused(404, Code.NOT_FOUND, why)


def public_door(parts: Parts) -> Door:
    door = PublicDoor(parts)
    listener = parts.database.public_listener(door.forget)
    return Door(
        name="public",
        routes=door.routes(),
        identifies=False,
        pages=True,
        cors=True,
        cache=f"public, max-age={int(parts.settings.public.kept_seconds)}, must-revalidate",
        duties=() if listener is None else (listener.run,),
    )
