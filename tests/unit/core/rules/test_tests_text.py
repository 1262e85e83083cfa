"""What a receipt's tests_sha256 covers: the tests as written, and nothing else of the text."""

from bpc_worker.core.rules.tests_text import text_of_tests

FIELD = 'field a.b: Int = 1; -- "example"\n'
EXAMPLE = "example one: { } => expect(a.b, == 1);"
PROPERTY = 'property all: cases(2) seed(7) { } forall n: Int in [1, 3] => field("a.b") <= n;'


def test_the_tests_stand_in_the_order_of_the_text_one_per_line() -> None:
    assert text_of_tests(f"{FIELD}{PROPERTY}  {EXAMPLE}") == f"{PROPERTY}\n{EXAMPLE}"
    assert text_of_tests(f"{EXAMPLE}{FIELD}{PROPERTY}") == f"{EXAMPLE}\n{PROPERTY}"


def test_what_is_no_test_does_not_count() -> None:
    assert text_of_tests(FIELD) == ""
    assert text_of_tests(f"{FIELD}{EXAMPLE}") == text_of_tests(f"-- other words\n{EXAMPLE}")


def test_a_changed_test_is_another_text() -> None:
    assert text_of_tests(EXAMPLE) != text_of_tests(EXAMPLE.replace("== 1", "== 2"))
