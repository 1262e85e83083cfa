"""The page of a passport, whatever its texts are: escaped, in order, with every digit."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from uuid import UUID

import msgspec
import pytest

from bpc_worker.core.base.signing import KeyStatus, Purpose
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_text import parse_view
from bpc_worker.domain.records import SigningKey
from bpc_worker.domain.states import Granularity, PassportStatus
from bpc_worker.web.layer.answers import Page
from bpc_worker.web.layer.languages import all_languages
from bpc_worker.web.layer.request import Origin, Request
from bpc_worker.web.layer.templates import render
from bpc_worker.web.locks.identity import NOBODY
from bpc_worker.web.public.keeping import Kept
from bpc_worker.web.public.page import ModelPage, passport_page
from bpc_worker.web.public.records import Attachment, Found, Mark, Model, Version
from bpc_worker.web.public.values import number, part_of
from bpc_worker.web.public.verdicts import Verdict, verdict_on
from tests.support.passports import SIGNER, compiled, some_facts, whole_view

NOW = datetime(2027, 3, 1, 12, 3, 5, tzinfo=UTC)
EVIL = '"\'><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">'
EN, DE = all_languages()["en"], all_languages()["de"]
VIEW = cut(whole_view(compiled(some_facts())), "public")
CLAIMS = parse_view(VIEW).claims
KEY = SigningKey(parse_view(VIEW).key_id, SIGNER.public_key, KeyStatus.ACTIVE, frozenset({Purpose.PASSPORT}))


def a_version(**changes: object) -> Version:
    version = Version(
        passport_version_id=CLAIMS.passport_version_id,
        tenant_id=UUID(int=1),
        passport_id=UUID(int=2),
        unique_identifier=CLAIMS.unique_identifier,
        granularity=Granularity.ITEM,
        product="EV 78",
        status=PassportStatus.ACTIVE,
        issued_at=NOW,
        law_date=date(2027, 2, 18),
        activated_at=NOW,
        superseded_at=None,
        superseded_by=None,
        followed_by=None,
        revoked_at=None,
        recycled_at=None,
        economic_operator=None,
        facility=None,
        view=VIEW,
    )
    return msgspec.structs.replace(version, **changes)


def kept(version: Version, verdict: Verdict, **more: object) -> Kept[Found]:
    found = Found(host_is_known=True, versions=[version], shown=version, keys=[KEY], **more)  # type: ignore[arg-type]
    return Kept(found, NOW, 0, 0, 0, verdict=verdict)


def a_request() -> Request:
    return Request(
        method="GET", path="/", path_args={}, query=None, body=None, headers={}, identity=NOBODY,
        languages=(), csrf="",
        origin=Origin(address="127.0.0.1", scheme="https", host="id.example.com", prefix=""),
    )  # fmt: skip


def shown(template: str, record: object) -> str:
    return render(Page(template, record), a_request()).decode()


class Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def check_harmless(html: str) -> None:
    """EVIL is text in it and nothing else."""
    elements = Elements(html).found
    assert "alert(1)" in html
    assert not {"script", "img", "iframe", "object", "style"} & {tag for tag, _ in elements}
    for _, attributes in elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert not (attributes.get("href") or "").strip().lower().startswith(("javascript", "data:text"))


def hostile(depth: int = 0) -> Iterator[object]:
    yield EVIL
    yield {"unit": EVIL, "value": EVIL}
    yield {"empty": "missing", "reason": EVIL, "detail": EVIL}
    yield {"en": EVIL, "de": EVIL}
    yield f"https://x.example/{EVIL}"
    yield "javascript:alert(1)"
    yield [EVIL, 1, None, True]
    yield [{EVIL: EVIL}, {"b": EVIL}]
    yield {EVIL: EVIL}
    if depth < 2:
        yield [*hostile(depth + 1)]
        yield {"x": [*hostile(depth + 1)]}


def test_no_text_becomes_anything_but_text() -> None:
    fields = {f"group{at}.point": value for at, value in enumerate(hostile())}
    fields |= {"manufacturer.name": EVIL, f"{EVIL}.{EVIL}": EVIL, "identity.serial": EVIL,
               f"compliance.{EVIL}": {"holds": False, "message": EVIL}}  # fmt: skip
    verdict = Verdict(Mark.GOOD, NOW, key_id=EVIL, claims=CLAIMS, fields=fields)
    attachment = Attachment("ab" * 32, "other", "text/plain", 7, "en", EVIL)

    page = passport_page(
        kept(a_version(product=EVIL), verdict, attachments=[attachment]), EN, {"en": "?lang=en"}, None
    )

    check_harmless(shown("public/passport.html", page))
    bad = Verdict(Mark.BAD, NOW, EVIL)
    check_harmless(shown("public/passport.html", passport_page(kept(a_version(), bad), EN, {}, None)))
    model = Model("09520123456788", EVIL, EVIL, EVIL, "https://volt.example")
    check_harmless(
        shown("public/model.html", ModelPage(address=EVIL, heading=EVIL, model=model, language_links={}))
    )


@pytest.mark.parametrize(
    ("text", "english", "german"),
    [
        ("1500", "1500", "1500"),
        ("36000", "36\u202f000", "36\u202f000"),
        ("-1234567.8900", "\u22121\u202f234\u202f567.8900", "\u22121\u202f234\u202f567,8900"),
        ("0.00", "0.00", "0,00"),
        ("NaN", "NaN", "NaN"),
    ],
)
def test_numbers_keep_every_digit(text: str, english: str, german: str) -> None:
    assert (number(text, EN), number(text, DE)) == (english, german)


def test_values_are_read_as_what_they_are() -> None:
    assert part_of({"unit": "kWh", "value": "75.0"}, DE).text == "75,0"
    assert part_of({"unit": "month", "value": "96"}, EN).unit == "months"
    assert part_of({"de": "Wasser", "en": "water"}, DE).text == "Wasser"
    assert (part_of({"fr": "eau"}, DE).text, part_of({"fr": "eau"}, DE).language) == ("eau", "fr")
    assert part_of({"cadmium": False, "lead": True}, EN).kind == "table"
    assert part_of({"empty": "notYet", "reason": "the law does not ask for it yet"}, DE).text == (
        "noch nicht vom Gesetz verlangt"
    )


def test_a_good_view_is_good_and_a_changed_one_is_not() -> None:
    assert verdict_on(a_version(), [KEY], NOW).mark is Mark.GOOD
    changed = VIEW[:-5] + ("A" if VIEW[-5] != "A" else "B") + VIEW[-4:]
    assert verdict_on(a_version(view=changed), [KEY], NOW).mark is Mark.BAD
    assert verdict_on(
        a_version(unique_identifier="https://x.example/p/0123456789ABCDEF"), [KEY], NOW
    ).mark is (Mark.BAD)
    assert verdict_on(a_version(passport_version_id=UUID(int=9)), [KEY], NOW).mark is Mark.BAD
    assert verdict_on(a_version(), [], NOW).mark is Mark.BAD
    assert verdict_on(a_version(view=None), [KEY], NOW).mark is Mark.BAD
