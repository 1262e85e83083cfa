"""Tokens: what one looks like, what is asked for, and that the page about them knows every scope."""

import re

import pytest

from bpc_worker.domain import tokens
from bpc_worker.domain.tokens import SCOPES, Asked, as_made, check, hash_of, new_secret
from bpc_worker.jobs.errors import Permanent
from tests.support import markdown


def asked(*scopes: str, audience: str = "public", seconds: float = 60) -> Asked:
    return Asked(scopes=list(scopes), audience=audience, seconds=seconds)


def test_a_secret_is_long_random_and_recognised() -> None:
    made = {new_secret() for _ in range(100)}

    assert len(made) == 100
    assert all(re.fullmatch("bpc_[A-Za-z0-9_-]{43}", each) for each in made)
    assert len({hash_of(each) for each in made}) == 100


@pytest.mark.parametrize(
    "text", ["", "bpc_", "x" * 47, "bpc_" + "a" * 42, "bpc_" + "a" * 44, "bpc_" + "ä" * 43]
)
def test_what_cannot_be_a_token_is_not_looked_up(text: str) -> None:
    assert hash_of(text) is None


def test_nothing_of_the_secret_is_stored() -> None:
    secret = new_secret()
    stored = as_made(secret, "x", asked("write", "read", "write"))

    assert stored["scopes"] == ["read", "write"]
    assert stored["token_hash"] == hash_of(secret)
    assert secret.removeprefix(tokens.PREFIX) not in repr(stored)


@pytest.mark.parametrize("name", ["x", "factory-3", "jane@example.com", "A.b_c+d", "9"])
def test_a_name_is_a_name(name: str) -> None:
    check(name, asked(*SCOPES))


@pytest.mark.parametrize("name", ["", " x", "-x", "a/b", "token:x", "ä", "x\n", "x" * 61])
def test_a_name_that_could_be_mistaken_is_refused(name: str) -> None:
    with pytest.raises(Permanent, match="a token's name is"):
        check(name, asked("read"))


@pytest.mark.parametrize(
    ("given", "meant"), [("reed", "read"), ("WRITE", "write"), ("priority0", "priority:0")]
)
def test_a_scope_that_is_nearly_one_is_said(given: str, meant: str) -> None:
    with pytest.raises(Permanent, match=rf"no scope is called '{given}'; did you mean {meant}\?"):
        check("x", asked("read", given))


def test_the_page_knows_every_scope() -> None:
    table = (
        (markdown.ROOT / "docs" / "security.md").read_text(encoding="utf-8").partition("| scope | lets |")[2]
    )
    named = {
        each for row in table.partition("\n\n")[0].splitlines() for each in re.findall("`([a-z:0-9]+)`", row)
    }

    assert {each.split(":")[0] for each in named} == {each.split(":")[0] for each in SCOPES}
