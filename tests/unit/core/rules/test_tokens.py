import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.rules.source import Limits, RuleError
from bpc_worker.core.rules.tokens import Kind, tokenize
from tests.unit.core.rules.support import raised


def words(source: str) -> list[tuple[str, str]]:
    return [(str(token.kind), token.text) for token in tokenize(source, Limits())[:-1]]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", []),
        (" \t\r\n -- a comment => 1\n", []),
        ("abc _x1 A_", [("name", "abc"), ("name", "_x1"), ("name", "A_")]),
        ("42 1.50 0", [("integer", "42"), ("decimal", "1.50"), ("integer", "0")]),
        ("1.a", [("integer", "1"), ("symbol", "."), ("name", "a")]),
        ('"a b"', [("text", "a b")]),
        (r'"\"\\\n\t"', [("text", '"\\\n\t')]),
        ('"ü→🔋"', [("text", "ü→🔋")]),
        ('"-- no comment"', [("text", "-- no comment")]),
        ("a-b", [("name", "a"), ("symbol", "-"), ("name", "b")]),
        ("a--b", [("name", "a")]),
        ("=>=!=<=>=", [("symbol", each) for each in ["=>", "=", "!=", "<=", ">="]]),
        ("||&&==", [("symbol", "||"), ("symbol", "&&"), ("symbol", "==")]),
        ("(){}[],;:.+*/!<> =", [("symbol", each) for each in "(){}[],;:.+*/!<>="]),
    ],
)
def test_words_and_signs(source: str, expected: list[tuple[str, str]]) -> None:
    assert words(source) == expected


def test_a_token_knows_its_place() -> None:
    source = 'let  x = "a\\tb";'

    assert [source[token.span.start : token.span.end] for token in tokenize(source, Limits())] == [
        "let", "x", "=", '"a\\tb"', ";", "",
    ]  # fmt: skip


def test_the_last_token_is_the_end() -> None:
    [end] = tokenize("  ", Limits())

    assert (end.kind, end.span) == (Kind.END, (2, 2))


def test_a_text_has_a_limit_in_bytes_not_in_characters() -> None:
    limits = Limits(source_bytes=6)

    assert len(tokenize('"üü"', limits)) == 2
    with pytest.raises(RuleError, match="the rule text has 8 bytes"):
        tokenize('"üüü"', limits)


def test_the_point_of_a_number_is_no_digit() -> None:
    assert len(tokenize("12.34 1234", Limits(digits=4))) == 3


@given(source=st.text())
def test_any_text_gives_tokens_or_an_error_with_a_place(source: str) -> None:
    error = raised(lambda: tokenize(source, Limits()))

    if error is not None:
        assert error.code == "RULE_PARSE_ERROR"
        assert 0 <= error.span.start < error.span.end <= len(source)
