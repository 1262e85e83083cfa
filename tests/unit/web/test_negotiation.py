"""Media types and languages by weight, and entity tags."""

import pytest

from bpc_worker.web.layer.languages import MAIN, all_languages, choose
from bpc_worker.web.layer.negotiation import best_media_type, entity_tag, is_known, languages

OFFERED = ("text/html", "application/json", "application/linkset+json")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "text/html"),
        ("", "text/html"),
        ("*/*", "text/html"),
        ("application/json", "application/json"),
        ("application/*", "application/json"),
        ("text/html;q=0.5, application/json;q=0.9", "application/json"),
        ("text/html;q=0, */*", "application/json"),
        ("application/*;q=0.1, application/linkset+json", "application/linkset+json"),
        ("image/png", None),
        ("application/json;q=nonsense", None),
        ("application/json;q=7", None),
        ("APPLICATION/JSON", "application/json"),
        (";;;,,,", None),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
    ],
)
def test_what_is_liked_best_is_chosen(accept: str | None, chosen: str | None) -> None:
    assert best_media_type(accept, OFFERED) == chosen


def test_hostile_headers_cost_no_more_than_their_beginning() -> None:
    assert best_media_type("a/b," * 100_000 + "application/json", OFFERED) is None


@pytest.mark.parametrize(
    ("accept", "tag"),
    [
        (None, "en"), ("de", "de"), ("de-AT, en;q=0.5", "de"), ("fr, de;q=0.2", "de"),
        ("en;q=0.3, de;q=0.4", "de"), ("*", "en"), ("de;q=0", "en"), ("xx", "en"),
    ],
)  # fmt: skip
def test_a_language_is_chosen_that_is_there(accept: str | None, tag: str) -> None:
    assert choose(languages(accept)).tag == tag


def test_every_language_says_the_same_things() -> None:
    """What one lacks is said in English; here it would be forgotten."""
    said = all_languages()

    assert next(iter(said)) == MAIN
    assert {tag: each.names() for tag, each in said.items()} == dict.fromkeys(said, said[MAIN].names())


def test_places_in_texts_are_the_same_in_every_language() -> None:
    said = all_languages()

    for name in said[MAIN].names():
        assert len({each.places(name) for each in said.values()}) == 1, name


def test_a_tag_is_of_these_bytes_and_known_in_any_form() -> None:
    tag = entity_tag(b"one")

    assert tag != entity_tag(b"two")
    assert tag.startswith('"')
    assert is_known(f'"x", W/{tag}', tag)
    assert is_known("*", tag)
    assert not is_known(None, tag)
    assert not is_known('"x"', tag)
