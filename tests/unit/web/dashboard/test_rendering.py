"""Every template of the dashboard, every text that it shows made hostile: nothing of it becomes markup."""

from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
import pytest

from bpc_worker.web.dashboard import (
    attention,
    bulk_page,
    dead,
    fleet,
    job,
    now,
    passport_list,
    passport_records,
    pipeline,
    search,
    webhooks,
)
from bpc_worker.web.dashboard.live import as_event
from bpc_worker.web.dashboard.svg import bars
from bpc_worker.web.layer.answers import Page
from bpc_worker.web.layer.request import Origin, Request
from bpc_worker.web.layer.templates import render
from bpc_worker.web.locks.identity import Identity, Kind

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}&amp;\n\ndata: x"
MOVING = {
    "now": now.Now, "dead": dead.Dead, "bulk": bulk_page.Bulk, "job": job.JobPage,
    "pipeline": pipeline.Pipeline, "build": pipeline.BuildPage, "passport": passport_records.PassportPage,
    "fleet": fleet.Fleet,
}  # fmt: skip
RESTING = {
    "confirm": dead.Confirmed, "passports": passport_list.Passports, "search": search.Results,
    "webhooks": webhooks.Webhooks, "delivery": webhooks.DeliveryPage, "keys": webhooks.NewKeys,
}  # fmt: skip
# Words of ours, which the texts have a line for.
WORDS = {
    "concerns": [attention.Concern(what, EVIL, EVIL, EVIL, "/x") for what in (
        "no_worker", "unhandled", "paused", "overdue", "endpoint_disabled", "endpoint_failing",
        "build_stopped", "doctor")],
    "moments": [job.Moment("made", EVIL, EVIL)],
    "counts": [pipeline.StageCount("STOPPED", EVIL, is_any=True)],
    "stages": [pipeline.Stage("COMPILE", "stopped", EVIL)],
    "upkeep": [fleet.Named("sampled", EVIL)],
    "facts": [("law_date", EVIL)],
    "hits": [search.Hit("passport", EVIL, EVIL, "/x")],
    "related": [search.Hit("job", EVIL, EVIL, "/x")],
    "pace": bars([("12:00", 3)]),
    "act": "retry",
    "state": "not_valid",
}  # fmt: skip
MAKES: dict[Any, Callable[[], object]] = {
    str: lambda: EVIL, int: lambda: 3, bool: lambda: True, float: lambda: 1.5, bytes: EVIL.encode,
    UUID: lambda: UUID(int=7), datetime: lambda: datetime(2028, 8, 18, tzinfo=UTC),
}  # fmt: skip


def made(kind: Any) -> Any:
    """A value of that type, full of it."""
    if kind in MAKES:
        return MAKES[kind]()
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return made(next(each for each in args if each is not type(None)))
    if origin in {list, tuple}:
        return [made(args[0])]
    if origin is Literal:
        return args[-1]
    hints = get_type_hints(kind)
    names = [each.name for each in msgspec.structs.fields(kind)]
    return kind(**{name: _named(kind, name, hints[name]) for name in names})


def _named(owner: Any, name: str, hint: Any) -> Any:
    is_word = name in WORDS and not (name == "act" and hint is not str)
    is_word &= not (name == "related" and owner is job.JobPage) and not (name == "state" and hint is not str)
    return WORDS[name] if is_word else made(hint)


def request(*scopes: str, language: str = "en") -> Request:
    return Request(
        method="GET",
        path="/",
        path_args={},
        query=None,
        body=None,
        headers={},
        identity=Identity(EVIL, Kind.SESSION, scopes=frozenset(scopes)),
        origin=Origin(address="127.0.0.1", scheme="http", host="localhost", prefix="/base"),
        languages=(language,),
        csrf="word",
    )


class Markup(HTMLParser):
    """Every tag and attribute that a browser would find."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    found = Markup()
    found.feed(html)
    return found.tags


TEMPLATES = [(f"{folder}{name}", kind) for folder in ("", "live/") for name, kind in MOVING.items()]
ALL = [*TEMPLATES, *RESTING.items()]


@pytest.mark.parametrize(("name", "kind"), ALL, ids=[name for name, _ in ALL])
@pytest.mark.parametrize("scopes", [("read",), ("read", "operate", "values", "webhooks")])
def test_no_stored_text_becomes_markup(name: str, kind: Any, scopes: tuple[str, ...]) -> None:
    html = render(Page(f"dashboard/{name}.html", made(kind)), request(*scopes)).decode()

    assert "alert(1)" in html, "the text is shown"
    assert "{{7*7}}" in html, "and what it says to a template is not heard"
    for tag, attributes in tags(html):
        assert tag != "script" or set(attributes) == {"src", "defer"}
        assert not [each for each in attributes if each.startswith("on") or each == "style"], (
            tag,
            attributes,
        )
        assert not (attributes.get("href") or "").strip().lower().startswith(("javascript:", "//", "http"))
        assert tag != "img" or (attributes.get("src") or "").startswith("/base/passports/")


@pytest.mark.parametrize(("name", "kind"), TEMPLATES[len(MOVING) :], ids=[*MOVING])
def test_what_is_drawn_once_for_many_has_nobodys_word_in_it(name: str, kind: Any) -> None:
    html = render(Page(f"dashboard/{name}.html", made(kind)), request("operate", "values")).decode()

    assert "csrf" not in html
    assert not [tag for tag, _ in tags(html) if tag == "form"]


def test_a_stored_text_ends_no_event_of_a_stream() -> None:
    event = as_event(b"<p>one\r\ntwo\rdata: three\n\nfour</p>")

    assert event.endswith(b"\n\n")
    assert event.count(b"\n\n") == 1
    assert all(line.startswith(b"data: ") for line in event.rstrip(b"\n").split(b"\n"))
    assert b"\r" not in event


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(("name", "kind"), ALL, ids=[name for name, _ in ALL])
def test_every_page_has_one_heading_labels_and_titles_of_columns(name: str, kind: Any, language: str) -> None:
    asked = request("operate", "values", "webhooks", language=language)
    found = tags(render(Page(f"dashboard/{name}.html", made(kind)), asked).decode())
    if not name.startswith("live/"):
        assert [tag for tag, _ in found].count("h1") == 1
        assert [tag for tag, _ in found].count("main") == 1
    for tag, attributes in found:
        assert tag != "th" or attributes.get("scope") in {"col", "row"}
        assert tag not in {"progress", "svg"} or attributes.get("aria-label")
        assert tag != "img" or attributes.get("alt") is not None
