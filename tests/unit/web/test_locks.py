"""Who asks, by what is shown; and what a browser must bring to change something."""

import asyncio

import pytest

from bpc_worker.domain.tokens import hash_of, new_secret
from bpc_worker.jobs.model import Priority
from bpc_worker.web.locks.credentials import Shown, cookies_of, csrf_of, session_hash, set_cookie
from bpc_worker.web.locks.identity import NOBODY, Identity, Kind
from bpc_worker.web.locks.lock import ProxyRules, identity, shown

TOKEN, UNKNOWN = new_secret(), f"bpc_{'x' * 43}"
RULES = ProxyRules(identity_header="X-User", groups_header="X-Groups", groups={"ops": ("read", "operate")})
JANE = Identity("token:jane", Kind.TOKEN)


class Known:
    async def by_token(self, token_hash: bytes) -> Identity | None:
        return JANE if token_hash == hash_of(TOKEN) else None

    async def by_session(self, session_hash_: bytes) -> Identity | None:
        return JANE if session_hash_ == session_hash("s") else None


def who(*, is_trusted: bool = True, scheme: str = "http", **headers: str) -> Identity | None:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(identity(shown(given, RULES, scheme=scheme, is_trusted=is_trusted), Known(), RULES))


def test_a_token_a_session_or_a_name_from_a_proxy() -> None:
    assert who(Authorization=f"Bearer {TOKEN}") == JANE
    assert who(Authorization=f"bearer  {TOKEN} ") == JANE
    assert who(Cookie="bpc_session=s") == JANE
    named = who(X_User="ann@example.com", X_Groups="users, ops")
    assert named == Identity("ann@example.com", Kind.PROXY, scopes=frozenset({"read", "operate"}))
    assert who() == NOBODY


@pytest.mark.parametrize(
    "header",
    ["Bearer x", "Bearer " + "x" * 4000, f"Bearer {UNKNOWN}", f"Bearer {TOKEN} more"],
    ids=["short", "long", "unknown", "more"],
)
def test_what_is_good_for_nothing_is_not_nobody(header: str) -> None:
    assert who(Authorization=header) is None
    assert who(Authorization=header, Cookie="bpc_session=s") is None  # the first that is shown counts


@pytest.mark.parametrize(
    "header", [f"Basic {TOKEN}", TOKEN, "Bearer", ""], ids=["basic", "bare", "word", "none"]
)
def test_another_scheme_shows_nothing(header: str) -> None:
    assert who(Authorization=header) == NOBODY


def test_only_a_trusted_proxy_names_anybody() -> None:
    assert who(is_trusted=False, X_User="ann", X_Groups="ops") == NOBODY


@pytest.mark.parametrize("name", ["token:jane", "a\x07b", "x" * 101])
def test_a_name_that_could_be_mistaken_is_nobodys(name: str) -> None:
    assert who(X_User=name) is None


def test_without_a_group_of_ours_a_person_may_nothing() -> None:
    found = who(X_User="ann", X_Groups="others")

    assert found is not None
    assert not found.scopes


def test_under_https_a_cookie_has_a_name_that_nobody_else_can_set() -> None:
    assert set_cookie("bpc_session", "v", scheme="https", seconds=9) == (
        "__Host-bpc_session=v; Path=/; Max-Age=9; HttpOnly; SameSite=Strict; Secure"
    )
    assert who(scheme="https", Cookie="bpc_session=s") == NOBODY
    assert who(scheme="https", Cookie="__Host-bpc_session=s") == JANE


def test_cookies_that_are_none_are_none() -> None:
    assert cookies_of({"Cookie": "a=1; b=2"}) == {"a": "1", "b": "2"}
    assert cookies_of({"Cookie": "\x00=;;;===,"}) == {}


def test_the_word_for_forms_follows_from_the_session_and_does_not_tell_it() -> None:
    assert csrf_of("a") == csrf_of("a") != csrf_of("b")
    assert "a-secret" not in csrf_of("a-secret")


def test_nothing_shown_is_nothing() -> None:
    assert Shown().is_nothing
    assert not Shown(name="x").is_nothing


@pytest.mark.parametrize(
    ("scopes", "most"),
    [((), Priority.NORMAL), (("priority:0",), 0), (("priority:3",), 3), (("priority:3", "priority:1"), 1)],
)
def test_the_most_urgent_that_may_be_asked_for(scopes: tuple[str, ...], most: int) -> None:
    assert Identity("x", Kind.TOKEN, scopes=frozenset(scopes)).most_urgent == most
