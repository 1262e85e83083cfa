import json
import pickle
import re
from collections.abc import Callable
from enum import IntEnum, StrEnum
from pathlib import Path
from random import Random

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from bpc_worker.core.base.canonical_json import (
    MAX_DEPTH,
    MAX_INTEGER,
    CanonicalJsonError,
    JsonValue,
    decode,
    encode,
)
from bpc_worker.core.base.hashing import sha256_hex
from tests.support.published import published

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
keys = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"], max_codepoint=0xFFFF))
integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
values = st.recursive(
    st.none() | st.booleans() | integers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)


def nested(depth: int, innermost: object) -> object:
    for _ in range(depth):
        innermost = [innermost]
    return innermost


def path_of(action: Callable[[], object]) -> str:
    with pytest.raises(CanonicalJsonError) as caught:
        action()
    return caught.value.path


def test_the_example_of_the_format_has_its_published_hash() -> None:
    data = encode({"b": 2, "a": 1})

    assert data == b'{"a":1,"b":2}'
    assert sha256_hex(data) == "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"


def check_against_rfc_8785(value: JsonValue) -> None:
    data = encode(value)

    assert data == rfc8785.dumps(value)
    assert decode(data) == value
    assert encode(decode(data)) == data  # True is not 1


@given(values)
def test_bytes_are_those_of_rfc_8785_and_decoding_returns_what_was_encoded(value: JsonValue) -> None:
    check_against_rfc_8785(value)


RANGES = [(0x20, 0x7E), (0x01, 0x1F), (0x7F, 0x2FF), (0x2000, 0x20FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]


def drawn_text(dice: Random, ranges: list[tuple[int, int]]) -> str:
    return "".join(chr(dice.randint(*dice.choice(ranges))) for _ in range(dice.choice([0, 1, 2, 3, 8])))


def drawn_value(dice: Random, levels: int) -> JsonValue:
    """As `values`, and a tenth of the time: a seed is one number to draw."""
    match dice.randrange(4 if levels == 0 else 8):
        case 0:
            return dice.choice([None, True, False, 0, 1, -1, MAX_INTEGER, -MAX_INTEGER])
        case 1:
            return dice.randint(-MAX_INTEGER, MAX_INTEGER) >> dice.randrange(54)
        case 2 | 3:
            return drawn_text(dice, RANGES)
        case 4 | 5:
            return [drawn_value(dice, levels - 1) for _ in range(dice.randrange(5))]
        case _:
            names = [drawn_text(dice, RANGES[:-1]) for _ in range(dice.randrange(6))]
            return {name: drawn_value(dice, levels - 1) for name in names}


@settings(max_examples=10_000)
@given(st.integers(0, 2**64 - 1))
def test_so_it_is_in_ten_thousand_cases(seed: int) -> None:
    check_against_rfc_8785(drawn_value(Random(seed), 4))


BAD_TEXTS = ["\0", "a\ud800", "\udfff", "\x1f\0"]
BAD_NUMBERS = [0.0, -0.0, 1.5, 1e300, float("inf"), float("nan"), MAX_INTEGER + 1, -(2**64)]
STEPS = {
    "a": "a",
    "b/c": "b~1c",
    "~": "~0",
    "": "",
    "\uffff": "\uffff",
    "😀": "😀",
    "x\U00010000": "x\U00010000",
}
anything = st.recursive(
    values | st.sampled_from([*BAD_TEXTS, *BAD_NUMBERS, b"a"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(list(STEPS)), inner, max_size=4)
    ),
    max_leaves=12,
)


def bad_places(value: object, path: str = "") -> set[str]:
    """Written from docs/formats.md: every place that has no canonical bytes."""
    if isinstance(value, dict):
        astral = {f"{path}/{STEPS.get(key, key)}" for key in value if max(key, default="") > "\uffff"}
        inside = (bad_places(each, f"{path}/{STEPS.get(key, key)}") for key, each in value.items())
        return astral.union(*inside)
    if isinstance(value, list):
        return set().union(*(bad_places(each, f"{path}/{at}") for at, each in enumerate(value)))
    if isinstance(value, str):
        bad = "\0" in value or any("\ud800" <= each <= "\udfff" for each in value)
    else:
        bad = not (value is None or (isinstance(value, int) and abs(value) <= MAX_INTEGER))
    return {path} if bad else set()


@settings(max_examples=300)
@given(anything)
def test_anything_is_written_as_rfc_8785_has_it_or_refused_at_a_place_that_is_bad(value: object) -> None:
    bad = bad_places(value)
    if bad:
        assert path_of(lambda: encode(value)) in bad
    else:
        assert encode(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(st.permutations(["", "a", "aa", "b", "é", "\u2028", "\uffff", "A", "1", "10"]))
def test_order_of_insertion_does_not_matter(order: list[str]) -> None:
    assert encode(dict.fromkeys(order, 0)) == encode(dict.fromkeys(sorted(order), 0))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('"\\', rb'"\"\\"'),
        ("\b\t\n\f\r", rb'"\b\t\n\f\r"'),
        ("\x01\x0b\x1f", rb'"\u0001\u000b\u001f"'),
        ("/", b'"/"'),
        ("\x7f\x80\u2028\ufeff", '"\x7f\x80\u2028\ufeff"'.encode()),
        ("é€😀", '"é€😀"'.encode()),
    ],
)
def test_only_quotes_backslashes_and_controls_are_escaped(text: str, written: bytes) -> None:
    assert encode(text) == written
    assert decode(written) == text


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


def test_tuples_and_enumerations_are_written_as_what_they_hold() -> None:
    assert encode({"a": (Colour.RED, Size.BIG), Colour.RED: ()}) == b'{"a":["red",3],"red":[]}'


def test_booleans_are_not_integers() -> None:
    assert encode([True, 1, False, 0]) == b"[true,1,false,0]"


REFUSED_VALUES = [
    ("a fraction", 1.5),
    ("a whole float", 1.0),
    ("not a number", float("nan")),
    ("infinity", float("-inf")),
    ("an integer above the safe range", MAX_INTEGER + 1),
    ("an integer below the safe range", -MAX_INTEGER - 1),
    ("an integer of many digits", 10**5000),
    ("a lone surrogate", "a\ud800"),
    ("NUL", "a\0"),
    ("bytes", b"a"),
    ("a set", {1}),
    ("an object", object()),
    ("an integer as key", {1: 2}),
    ("None as key", {None: 2}),
]


@pytest.mark.parametrize("value", [v for _, v in REFUSED_VALUES], ids=[n for n, _ in REFUSED_VALUES])
def test_other_values_are_refused_with_their_place(value: object) -> None:
    assert path_of(lambda: encode(value)) == ""
    assert path_of(lambda: encode({"a": [0, {"b": value}]})) == "/a/1/b"


@given(values, st.sampled_from([v for _, v in REFUSED_VALUES]))
def test_one_bad_value_is_found_wherever_it_stands(good: JsonValue, bad: object) -> None:
    assert path_of(lambda: encode([good, {"x": good, "y": [bad]}])) == "/1/y/0"


@pytest.mark.parametrize(
    ("key", "step"),
    [("\0", r"\x00"), ("\ud800", r"\ud800"), ("😀", "😀"), ("é😀", "é😀")],
)
def test_keys_that_have_no_place_are_refused_with_a_printable_path(key: str, step: str) -> None:
    with pytest.raises(CanonicalJsonError) as caught:
        encode({"a": {key: 1}})

    assert caught.value.path == f"/a/{step}"
    assert str(caught.value).encode()


def test_paths_are_json_pointers() -> None:
    assert path_of(lambda: encode({"a/b": {"c~d": [1.5]}})) == "/a~1b/c~0d/0"
    assert path_of(lambda: decode(b'{"a/b":{"c~d":[1, 2]}}')) == "/a~1b/c~0d/1"


def test_the_message_names_the_path_and_the_rule() -> None:
    with pytest.raises(CanonicalJsonError, match=r"^/a/0: only integers are allowed"):
        encode({"a": [0.1]})
    with pytest.raises(CanonicalJsonError, match=r"^root: set is not a JSON type$"):
        encode(set())


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(CanonicalJsonError("/a", "bad")))  # noqa: S301

    assert (error.path, str(error)) == ("/a", "/a: bad")


def test_nesting_is_bounded_and_never_a_recursion_error() -> None:
    deepest = nested(MAX_DEPTH, 1)
    too_deep = nested(MAX_DEPTH + 1, 1)

    assert decode(encode(deepest)) == deepest
    assert path_of(lambda: encode(too_deep)) == "/0" * MAX_DEPTH
    assert path_of(lambda: encode({"a": too_deep})) == "/a" + "/0" * (MAX_DEPTH - 1)
    assert path_of(lambda: encode([{"a": nested(MAX_DEPTH - 2, {"b": 1})}, {}]))[:4] == "/0/a"


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 200_000])
def test_deeply_nested_bytes_are_refused_at_the_same_place(depth: int) -> None:
    assert path_of(lambda: decode(b"[" * depth + b"]" * depth)) == "/0" * MAX_DEPTH


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    assert path_of(lambda: encode(loop)) == "/0" * MAX_DEPTH


def test_a_caller_at_the_end_of_the_stack_gets_no_recursion_error() -> None:
    def descend(action: Callable[[], object]) -> object:
        try:
            return descend(action)
        except RecursionError:
            return action()

    assert path_of(lambda: descend(lambda: encode(nested(MAX_DEPTH, 1)))) == ""


REFUSED_BYTES = [
    ("white space before", b' {"a":1}', ""),
    ("white space after", b'{"a":1}\n', ""),
    ("white space in an object", b'{"a":1,"b": 2}', "/b"),
    ("white space in an array", b'{"a":[1,2, 3]}', "/a/2"),
    ("white space before a key", b'{"a":{ "b":1}}', "/a"),
    ("white space before a bracket", b'{"a":[[],{"b":[]} ]}', "/a/1"),
    ("unsorted keys", b'{"x":{"b":1,"a":2}}', "/x/b"),
    ("a duplicate key", b'[{"b":1,"a":1,"b":1}]', "/0/b"),
    ("a whole float", b'{"a":1.0}', "/a"),
    ("an exponent", b"[0,1e3]", "/1"),
    ("minus zero", b"[-0]", "/0"),
    ("NaN", b"[NaN]", "/0"),
    ("Infinity", b"[-Infinity]", "/0"),
    ("an integer above the safe range", b"[9007199254740992]", "/0"),
    ("an integer of many digits", b"[" + b"9" * 5000 + b"]", "/0"),
    ("an upper-case escape", rb'["\u000F"]', "/0"),
    ("a long escape for a short one", rb'["\u000a"]', "/0"),
    ("an escape for a plain letter", rb'{"a":"\u0041"}', "/a"),
    ("an escaped slash", rb'{"a":"\/"}', "/a"),
    ("an escaped letter in a key", rb'{"\u0061":1}', r"/\u0061"),
    ("an escaped pair", rb'{"a":"\ud83d\ude00"}', "/a"),
    ("a lone surrogate", rb'["\ud800"]', "/0"),
    ("a key above U+FFFF", '{"a":{"😀":1}}'.encode(), "/a/😀"),
    ("an escaped NUL", rb'{"a":"\u0000"}', "/a"),
    ("a raw NUL", b'{"a":"\0"}', "/a"),
    ("a raw line feed", b'{"a":"\n"}', "/a"),
    ("a byte order mark", b"\xef\xbb\xbf[]", ""),
    ("UTF-16", "[1]".encode("utf-16"), ""),
    ("bytes that are not UTF-8", b'{"a":[1,"\xff"]}', "/a/1"),
    ("bytes that are not UTF-8 in a key", b'{"a":{"b\xff":1}}', "/a/b"),
    ("an encoded surrogate", b'["\xed\xa0\x80"]', "/0"),
    ("nothing", b"", ""),
    ("no end", b'{"a":[1,2', "/a/1"),
    ("no end of a text", b'{"a":"b', "/a"),
    ("a comma too many", b'{"a":[1,]}', "/a/1"),
    ("two values", b"1 2", ""),
    ("brackets too many", b"[]]", ""),
    ("a comma alone", b"[],", ""),
    ("a bad escape", rb'{"a":"\x"}', "/a"),
    ("single quotes", b"['a']", "/0"),
    ("a comment", b"[1/*one*/]", "/0"),
]


@pytest.mark.parametrize(
    ("data", "path"), [row[1:] for row in REFUSED_BYTES], ids=[row[0] for row in REFUSED_BYTES]
)
def test_bytes_that_are_not_canonical_are_refused_with_their_place(data: bytes, path: str) -> None:
    assert path_of(lambda: decode(data)) == path


@given(st.binary() | st.text(st.sampled_from('{}[]",:\\u0aA1e-. \n')).map(str.encode))
def test_any_bytes_are_either_canonical_or_refused(data: bytes) -> None:
    """Nothing but CanonicalJsonError, and what is accepted has no second spelling."""
    try:
        value = decode(data)
    except CanonicalJsonError:
        return
    assert encode(value) == data


@given(values, st.data())
def test_every_other_spelling_of_a_value_is_refused(value: JsonValue, data: st.DataObject) -> None:
    indent = data.draw(st.none() | st.integers(0, 2))
    spelling = json.dumps(value, ensure_ascii=data.draw(st.booleans()), indent=indent).encode()
    if spelling == encode(value):
        assert decode(spelling) == value
    else:
        path_of(lambda: decode(spelling))


def test_hostile_quotes_are_read_once() -> None:
    """Reading them once per quote would take minutes."""
    assert path_of(lambda: decode(b'["' + rb"\"" * 200_000)) == "/0"


@pytest.fixture
def jcs() -> Path:
    return published("vectors", "jcs")


@pytest.mark.parametrize("name", ["arrays", "french", "unicode"])
def test_published_vectors_in_our_subset_give_the_published_bytes(jcs: Path, name: str) -> None:
    value: object = json.loads((jcs / f"{name}.input.json").read_bytes())
    expected = (jcs / f"{name}.output.json").read_bytes()

    assert encode(value) == expected
    assert decode(expected) == value


def test_the_published_vector_with_a_whole_float_matches_once_it_is_an_integer(jcs: Path) -> None:
    source = (jcs / "structures.input.json").read_bytes()
    expected = (jcs / "structures.output.json").read_bytes()

    assert path_of(lambda: encode(json.loads(source))) == "/1/\n"
    assert encode(json.loads(source, parse_float=lambda text: int(float(text)))) == expected


def test_published_vectors_outside_our_subset_are_refused(jcs: Path) -> None:
    fractions = (jcs / "values.output.json").read_bytes()
    smiley_key = (jcs / "weird.output.json").read_bytes()

    assert path_of(lambda: decode(fractions)) == "/numbers/0"
    assert path_of(lambda: decode(smiley_key)) == "/😂"


@pytest.mark.parametrize(
    ("name", "outside", "written"),
    [("values", "numbers", rb'"numbers":\[[^]]*\],'), ("weird", "😂", '"😂":"Smiley",'.encode())],
)
def test_without_the_member_outside_our_subset_the_published_bytes_appear(
    jcs: Path, name: str, outside: str, written: bytes
) -> None:
    value = json.loads((jcs / f"{name}.input.json").read_bytes())
    del value[outside]
    expected = re.sub(written, b"", (jcs / f"{name}.output.json").read_bytes())

    assert encode(value) == expected
    assert decode(expected) == value
