"""The public door: what a phone opens that has scanned the code on a battery."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from ipaddress import ip_address
from typing import Final

import msgspec

from bpc_worker import wiring
from bpc_worker.domain.records import SigningKey
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.postgres.notify import PUBLIC, NotifyListener
from bpc_worker.web.layer.answers import Answer, Page, Raw, SeeOther
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Door, Handle, Route
from bpc_worker.web.layer.templates import STATIC
from bpc_worker.web.parts import Parts
from bpc_worker.web.public import wellknown
from bpc_worker.web.public.addresses import Address, version_of, with_gtin, without_gtin
from bpc_worker.web.public.keeping import Keeper
from bpc_worker.web.public.page import HomePage
from bpc_worker.web.public.passports import Passports, Wanted, language_links
from bpc_worker.web.public.reading import PublicTables
from bpc_worker.web.public.records import Content, Found

_NOT_FOUND: Final = 404
_ROBOTS: Final = b"User-agent: *\nDisallow: /\n"
_JSON: Final = "application/json"
_LISTEN_SECONDS: Final = 10.0
_SHA256_HEX: Final = 64


class Query(msgspec.Struct, frozen=True, rename={"link_type": "linkType"}):
    """What an address may be asked with; GS1 has others, and they are left alone."""

    version: str | None = None
    format: str | None = None
    lang: str | None = None
    link_type: str | None = None


class HomeQuery(msgspec.Struct, frozen=True):
    code: str | None = None
    lang: str | None = None


class PublicDoor:
    def __init__(self, parts: Parts) -> None:
        settings = parts.settings.public
        clock = asyncio.get_running_loop().time
        self._loopback_host = settings.loopback_host
        self._tables = PublicTables(parts.database)
        kept, stale = settings.kept_seconds, settings.stale_seconds
        self._found: Keeper[Found] = Keeper(kept, stale, clock=clock)
        self._keys: Keeper[list[SigningKey] | None] = Keeper(kept, stale, clock=clock)
        self._lists: Keeper[str | None] = Keeper(kept, stale, clock=clock)
        misses, burst = settings.misses_per_second, settings.misses_burst
        self._passports = Passports(
            self._tables, self._found, Buckets(misses, burst), Buckets(misses * 10, burst * 10)
        )

    def forget(self) -> None:
        """Something that is shown here has changed."""
        for each in (self._found, self._keys, self._lists):
            each.change()

    def routes(self) -> list[Route]:
        paths = ["/01/{gtin}"]
        paths += [paths[0] + "".join(f"/{{q{n}}}/{{v{n}}}" for n in range(count)) for count in (1, 2, 3)]
        return [
            *(_get(path, self._with_gtin, "The passport of a battery, or its model.", Query) for path in _both(paths)),
            *(_get(path, self._odd, "A qualifier without a value.") for path in ("/01/{gtin}/{a}", "/01/{gtin}/{a}/{b}/{c}")),
            *(_get(path, self._without_gtin, "The passport of a battery without a GTIN.", Query) for path in _both(["/p/{id}"])),
            _get("/attachments/{sha256}", self._attachment, "A document that a passport names."),
            _get("/status/{number}", self._status_list, "Which versions are in force, signed."),
            _get("/.well-known/jwks.json", self._of_keys(wellknown.jwks), "The keys of the host."),
            _get("/.well-known/jwt-vc-issuer", self._of_keys(wellknown.issuer), "The issuer and its keys."),
            _get("/keys.json", self._of_keys(wellknown.key_file, "application/json"), "The keys, for `passport verify`."),
            _get("/.well-known/gs1resolver", self._resolver, "What this resolver does."),
            _get("/robots.txt", _robots, "Nothing here is for search engines."),
            _get("/", self._home, "Where a code that was scanned is looked up.", HomeQuery),
            STATIC,
        ]  # fmt: skip
