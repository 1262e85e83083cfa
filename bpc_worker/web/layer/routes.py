"""Routes as a table: what may be asked at a door, by whom, and who answers.

Paths are matched as they came, escapes and all: `%2F` stays inside its segment, and neither `..` nor an empty
segment leads anywhere.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.layer.answers import Answer

if TYPE_CHECKING:
    from bpc_worker.web.layer.request import Request

Handle = Callable[["Request"], Awaitable[Answer]]
Duty = Callable[[], Coroutine[object, object, None]]

_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"\{(\w+)\}(.*)")
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Lock:
    """What a route asks of whoever calls."""

    scope: str | None  # None: everybody
    changes: bool = False  # needs an unsafe method and, from a browser, a CSRF token


OPEN: Final = Lock(None)


def needs(scope: str, *, changes: bool = False) -> Lock:
    return Lock(scope, changes)


@dataclass(frozen=True, slots=True)
class Route:
    """`{name}` stands for one segment, or with something literal behind it for its beginning."""

    method: str  # HEAD comes with GET, OPTIONS with every path
    path: str
    handle: Handle
    lock: Lock
    body: type | None = None  # of a JSON body, or of a form; bytes: as it came
    query: type | None = None  # a Struct that forbids unknown fields
    answers: type | None = None  # of a 200 or 201
    says: str = ""
    most_bytes: int = _MIB  # of the body


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What is behind one lock. `duties` run for as long as it is open."""

    name: str
    routes: Sequence[Route]
    identifies: bool = True  # False: whoever asks is nobody, whatever he shows
    pages: bool = False  # whether people with browsers come here: problems are pages for them
    cors: bool = False  # whether scripts of other origins may read, without credentials
    sign_in: str | None = None  # the path of the page on which a person shows who he is
    cache: str = "no-store"  # where an answer does not say it
    duties: Sequence[Duty] = ()
    begin: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    route: Route
    path_args: Mapping[str, str]


class _Pattern:
    def __init__(self, segments: Sequence[str]) -> None:
        self.segments = segments
        self.routes: dict[str, Route] = {}
        places = [(number, _PLACE.fullmatch(each)) for number, each in enumerate(segments)]
        self._literals = [(number, segments[number]) for number, place in places if place is None]
        self._places = [(number, place[1], place[2]) for number, place in places if place is not None]

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """What stands at the places, still encoded."""
        for number, literal in self._literals:
            if segments[number] != literal:
                return None
        args: dict[str, str] = {}
        for number, name, ending in self._places:
            given = segments[number]
            if len(given) <= len(ending) or not given.endswith(ending):
                return None
            args[name] = given.removesuffix(ending)
        return args


class RouteTable:
    def __init__(self, routes: Sequence[Route]) -> None:
        patterns: dict[tuple[str, ...], _Pattern] = {}
        for route in routes:
            segments = tuple(route.path.removeprefix("/").split("/"))
            pattern = patterns.setdefault(segments, _Pattern(segments))
            if route.method in pattern.routes:
                raise ValueError(f"two routes for {route.method} {route.path}")
            pattern.routes[route.method] = route
            if route.method == "GET":
                pattern.routes["HEAD"] = route
        self._by_length: dict[int, list[_Pattern]] = {}
        for pattern in sorted(patterns.values(), key=lambda it: [_rank(each) for each in it.segments]):
            self._by_length.setdefault(len(pattern.segments), []).append(pattern)

    def find(self, method: str, path: str) -> Found | frozenset[str]:
        """The route, or the methods that the path allows; none of them where there is no such path.

        VALIDATION_ERROR where the path is no path.
        """
        segments = path.removeprefix("/").split("/")
        allowed: set[str] = set()
        for pattern in self._by_length.get(len(segments), ()):
            args = pattern.match(segments)
            if args is None:
                continue
            if method in pattern.routes:
                return Found(pattern.routes[method], {name: _decoded(each) for name, each in args.items()})
            allowed |= {*pattern.routes, "OPTIONS"}
        return frozenset(allowed)


def _rank(segment: str) -> tuple[bool, int]:
    """What is literal comes first, and of two places the one with more behind it."""
    place = _PLACE.fullmatch(segment)
    return (place is not None, 0 if place is None else -len(place[2]))


def _decoded(segment: str) -> str:
    if _PLAIN.fullmatch(segment):
        return segment
    if _BAD_ESCAPE.search(segment):
        raise Permanent(Code.VALIDATION_ERROR, "the path has a % that begins no escape")
    try:
        found = unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise Permanent(Code.VALIDATION_ERROR, "the path is not UTF-8") from None
    if "\0" in found or found in {".", ".."}:
        raise Permanent(Code.NOT_FOUND, "there is nothing at this address")
    return found
