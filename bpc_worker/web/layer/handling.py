"""One request, from its head to its answer: limits, the route, who asks, what it is, what is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe
from time import monotonic
from typing import Final, Protocol

from aiohttp import web

from bpc_worker.jobs.errors import Code, JobError, Permanent, SchemaMismatch
from bpc_worker.observability import log
from bpc_worker.web.layer.answering import answered, bare_problem, problem_answer
from bpc_worker.web.layer.answers import Empty
from bpc_worker.web.layer.bodies import body_of, fields_of, form_of, query_of, read_body
from bpc_worker.web.layer.limits import Buckets
from bpc_worker.web.layer.negotiation import languages
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.proxies import Proxies, subscriber
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Door, Found, Lock, Route, RouteTable
from bpc_worker.web.layer.streams import Streams
from bpc_worker.web.locks.credentials import CSRF_COOKIE, Shown, csrf_of, same, set_cookie
from bpc_worker.web.locks.identity import NOBODY, Identity, Kind
from bpc_worker.web.locks.lock import ProxyRules, Tokens, identity, shown

_log = log.get("web")

CSRF_HEADER: Final = "X-CSRF-Token"
_NO_ROUTE: Final = "none"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST_PATH: Final = 2048
_SERVER_ERROR: Final = 500
_DAY: Final = 86400
_NOTHING: Final = Shown()


class Meter(Protocol):
    def answered(self, door: str, route: str, status: int, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds at every door of a process."""

    proxies: Proxies
    proxy_rules: ProxyRules
    tokens: Tokens
    per_address: Buckets
    per_name: Buckets
    meter: Meter
    streams: Streams
    body_seconds: float = 20.0


@dataclass(slots=True)
class _Seen:
    """What is known of a request by the time that something goes wrong with it."""

    door: Door
    route: Route | None = None
    request: Request | None = None


class Handling:
    """Of everything that comes to one listener; its doors share it."""

    def __init__(self, doors: Sequence[Door], rules: Rules) -> None:
        self._rules = rules
        self._first = doors[0]
        self._door_of = {id(route): door for door in doors for route in door.routes}
        self._table = RouteTable([route for door in doors for route in door.routes])

    async def handle(self, asked: web.BaseRequest) -> web.StreamResponse:
        began_at, seen = monotonic(), _Seen(self._first)
        try:
            response = await self._answer(asked, seen)
        except (JobError, Refused) as error:
            response = _refusal(error, seen)
        except ConnectionError:
            raise  # there is nobody any more
        except Exception as error:  # noqa: BLE001 - the boundary: a bug costs one answer
            _log.error("request_bug", exc_info=error)
            response = _refusal(Permanent(Code.INTERNAL_ERROR, "something went wrong here"), seen)
        route = _NO_ROUTE if seen.route is None else seen.route.path
        seconds = monotonic() - began_at
        self._rules.meter.answered(seen.door.name, route, response.status, seconds)
        if log.is_verbose():
            told = {"door": seen.door.name, "route": route, "status": response.status}
            _log.debug("request", **told, duration_ms=round(seconds * 1000, 1))
        return response

    async def _answer(self, asked: web.BaseRequest, seen: _Seen) -> web.StreamResponse:
        rules = self._rules
        peer = asked.remote or ""
        path, _, query = asked.raw_path.partition("?")
        request = seen.request = Request(
            method=asked.method,
            path=path,
            path_args={},
            query=None,
            body=None,
            headers=asked.headers,
            identity=NOBODY,
            origin=rules.proxies.origin(peer, asked.headers),
            languages=languages(asked.headers.get("Accept-Language")),
            csrf="",
        )
        _spend(rules.per_address, subscriber(request.address))
        found = self._found(request, seen)
        if isinstance(found, Empty):
            return await answered(found, seen.door, request, asked, rules.streams)
        what = _NOTHING
        if seen.door.identifies:
            scheme, is_trusted = request.origin.scheme, rules.proxies.trusts(peer)
            what = shown(asked.headers, rules.proxy_rules, scheme=scheme, is_trusted=is_trusted)
        who = await self._who(found.route.lock, what)
        request.path_args, request.identity = found.path_args, who
        request.csrf, request.cookies = _csrf(what, who, request)
        _check_lock(found.route.lock, request)
        await self._fill(request, found.route, query, asked)
        answer = await found.route.handle(request)
        still = partial(self._is_still_good, found.route.lock, what)
        return await answered(answer, seen.door, request, asked, rules.streams, still)

    def _found(self, request: Request, seen: _Seen) -> Found | Empty:
        """The route; or the answer to OPTIONS."""
        path = self._rules.proxies.inside(request.path)
        if path is None or len(path) > _LONGEST_PATH:
            raise _nothing_here()
        found = self._table.find(request.method, path)
        if isinstance(found, Found):
            seen.route, seen.door = found.route, self._door_of[id(found.route)]
            return found
        if not found:
            raise _nothing_here()
        allow = {"Allow": ", ".join(sorted(found))}
        if request.method == "OPTIONS":
            return Empty(204, allow | _preflight(seen.door, allow["Allow"]))
        raise Refused(405, Code.VALIDATION_ERROR, f"{request.method} is not for this address", headers=allow)

    async def _who(self, lock: Lock, what: Shown) -> Identity:
        if what.is_nothing:
            return NOBODY
        who = await identity(what, self._rules.tokens, self._rules.proxy_rules)
        if who is None and what.bearer is None and lock.scope is None:
            return NOBODY  # the page for tokens is for whoever still has the cookie of a session that ended
        if who is None:
            raise _unknown("the token is unknown, has expired or was revoked")
        _spend(self._rules.per_name, who.name)
        return who

    async def _is_still_good(self, lock: Lock, what: Shown) -> bool:
        if lock.scope is None:
            return True
        who = await identity(what, self._rules.tokens, self._rules.proxy_rules)
        return who is not None and who.may(lock.scope)

    async def _fill(self, request: Request, route: Route, query: str, asked: web.BaseRequest) -> None:
        if query or route.query is not None:
            request.query = query_of(route, fields_of(query))
        if route.method in _SAFE:
            return
        raw, form, content_type = b"", None, request.headers.get("Content-Type", "")
        if route.body is not None:
            raw = await read_body(asked, route.most_bytes, self._rules.body_seconds)
            form = form_of(raw, content_type)
        _check_meant(request, form)
        request.body = body_of(route, raw, content_type, form)


def _refusal(error: JobError | Refused, seen: _Seen) -> web.Response:
    request = seen.request
    response = bare_problem(error) if request is None else problem_answer(error, seen.door, request)
    if response.status >= _SERVER_ERROR or isinstance(error, SchemaMismatch):
        _log.warning("request_failed", error_code=error.code, error_message=str(error))
    return response


def _check_lock(lock: Lock, request: Request) -> None:
    if lock.scope is None or request.identity.may(lock.scope):
        return
    if not request.identity.is_known:
        raise _unknown("this needs a token")
    raise Permanent(Code.FORBIDDEN, f"this needs the scope {lock.scope}, which the token does not have")


def _check_meant(request: Request, form: Mapping[str, list[str]] | None) -> None:
    """A browser sends along by itself what it is known by; that a person meant it, a page of ours knows."""
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    ours = f"{request.origin.scheme}://{request.origin.host}"
    if (site is not None and site != "same-origin") or (origin is not None and origin != ours):
        raise Permanent(Code.FORBIDDEN, "this was not asked for by a page of this address")
    if not request.identity.is_ambient:
        return
    given = request.headers.get(CSRF_HEADER) or "".join((form or {}).get("csrf", [])[:1])
    if not request.csrf or not same(given, request.csrf):
        raise Permanent(Code.FORBIDDEN, "the page is too old: load it anew, and try again")


def _csrf(what: Shown, who: Identity, request: Request) -> tuple[str, tuple[str, ...]]:
    """The word for forms, and a cookie where it rests on a new one."""
    if who.kind is Kind.SESSION and what.session is not None:
        return csrf_of(what.session), ()
    if who.kind is not Kind.PROXY:
        return "", ()
    if what.csrf_seed is not None:
        return csrf_of(what.csrf_seed), ()
    seed = token_urlsafe(24)
    cookie = set_cookie(CSRF_COOKIE, seed, scheme=request.origin.scheme, seconds=_DAY)
    return csrf_of(seed), (cookie,)


def _preflight(door: Door, methods: str) -> dict[str, str]:
    if not door.cors:
        return {}
    return {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": "Accept, Accept-Language, Content-Type, If-None-Match",
        "Access-Control-Max-Age": "3600",
    }


def _spend(buckets: Buckets, key: str) -> None:
    wait = buckets.wait(key)
    if wait > 0:
        raise Refused(
            429, Code.RATE_LIMITED, "too many requests in a short time",
            next_="wait as long as Retry-After says", headers={"Retry-After": str(max(1, round(wait)))},
        )  # fmt: skip


def _unknown(why: str) -> Refused:
    return Refused(
        401, "UNAUTHENTICATED", why, headers={"WWW-Authenticate": 'Bearer realm="bpc-worker"'},
        next_="`bpc-worker token create` makes one; send it as `Authorization: Bearer …`",
    )  # fmt: skip


def _nothing_here() -> Refused:
    return Refused(404, Code.NOT_FOUND, "there is nothing at this address", next_="compare the address")
