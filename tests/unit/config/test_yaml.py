"""One loader for what people write by hand: no key twice, and aliases only where they are wanted."""

import pytest

from bpc_worker.config.yaml import load_plain, load_strict

ALIAS = "a: &one {b: 1}\nc: *one\n"


def test_plain_text_says_what_it_looks_like() -> None:
    assert load_plain(b"a: [1, x]\nb: {c: null}\n") == {"a": [1, "x"], "b": {"c": None}}
    assert load_plain(b"") is None


def test_aliases_are_for_the_configuration_alone() -> None:
    assert load_strict(ALIAS) == {"a": {"b": 1}, "c": {"b": 1}}
    with pytest.raises(ValueError, match=r"^aliases \(\*name\) are not allowed here$"):
        load_plain(ALIAS.encode())


def test_a_key_that_stands_twice_is_told_by_the_line_of_its_mapping() -> None:
    with pytest.raises(ValueError, match=r"^a key stands twice in line 2$"):
        load_plain(b"a:\n  b: 1\n  b: 2\n")


@pytest.mark.parametrize("text", [b"a: [", b"a: !!python/object:os.system x", b"[" * 1500, b"\xff"])
def test_what_is_no_yaml_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        load_plain(text)
