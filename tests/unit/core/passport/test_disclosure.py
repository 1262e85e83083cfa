import hmac
import json
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.audience import Audience
from bpc_worker.core.base.canonical_json import JsonValue, encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.merkle import build, leaf_hash
from bpc_worker.core.passport.disclosure import (
    Disclosure,
    DisclosureError,
    Field,
    disclosure_seed,
    tree,
    verify_view,
    view,
)
from tests.vectors import load

SEED = sha256(b"seed")
EVERYBODY = frozenset(Audience)
HAZARDOUS = Field("materials.hazardous", {Audience.LEGITIMATE_INTEREST, Audience.COMMISSION}, value=False)
FIELDS = [
    Field("identity.category", EVERYBODY, "EV"),
    HAZARDOUS,
    Field("performance.capacity", {Audience.PUBLIC}, {"value": "94.0", "unit": "Ah"}),
    Field("tests.report", {Audience.AUTHORITIES}, None),
]

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=5)
audience_sets = st.sets(st.sampled_from(Audience), min_size=1)
values: st.SearchStrategy[JsonValue] = st.none() | st.booleans() | st.integers(0, 9) | texts
field_lists = st.lists(
    st.builds(Field, texts, audience_sets, values), min_size=1, max_size=9, unique_by=lambda item: item.path
)


def entries(shown: dict[str, JsonValue]) -> Any:
    return shown["fields"]


def copied(shown: dict[str, JsonValue]) -> Any:
    return json.loads(json.dumps(shown))


@pytest.mark.parametrize("name", ["three_fields", "one_field", "order_of_bytes"])
def test_golden_vectors_give_their_leaves_root_and_views(name: str) -> None:
    vector = load(f"disclose/{name}")
    given_, expected = vector["input"], vector["expected"]
    fields = [Field(each["path"], set(each["audiences"]), each["value"]) for each in given_["fields"]]

    seed = disclosure_seed(bytes.fromhex(given_["disclosure_key"]), UUID(given_["passport_version_id"]))
    disclosure = tree(fields, seed)

    assert seed.hex() == expected["seed"]
    assert [leaf.canonical.decode() for leaf in disclosure.leaves] == expected["leaves"]
    assert [leaf_hash(leaf.canonical).hex() for leaf in disclosure.leaves] == expected["leaf_hashes"]
    assert disclosure.root.hex() == expected["root"]
    assert {str(audience): view(disclosure, audience) for audience in Audience} == expected["views"]


@pytest.mark.parametrize("case", load("disclose/refused")["cases"], ids=lambda case: case["name"])
def test_golden_views_that_are_wrong_are_refused_at_their_place(case: dict[str, Any]) -> None:
    with pytest.raises(DisclosureError) as caught:
        verify_view(case["view"], bytes.fromhex(case["root"]))

    assert caught.value.path == case["place"]


@given(field_lists, st.randoms())
def test_the_order_of_the_fields_does_not_matter(fields: list[Field], dice: Random) -> None:
    shuffled = dice.sample(fields, len(fields))

    assert tree(shuffled, SEED) == tree(fields, SEED)


@given(field_lists, st.sampled_from(Audience))
def test_each_audience_sees_its_fields_and_can_verify_them(fields: list[Field], audience: Audience) -> None:
    disclosure = tree(fields, SEED)

    shown = view(disclosure, audience)

    verify_view(shown, disclosure.root)
    assert encode(shown)
    expected = {item.path: item.value for item in fields if audience in item.audiences}
    assert {entry["leaf"]["path"]: entry["leaf"]["value"] for entry in entries(shown)} == expected


def test_audiences_are_a_set_and_not_a_ladder() -> None:
    disclosure = tree(FIELDS, SEED)

    seen = {name: [entry["leaf"]["path"] for entry in entries(view(disclosure, name))] for name in Audience}

    assert seen == {
        "public": ["identity.category", "performance.capacity"],
        "legitimate_interest": ["identity.category", "materials.hazardous"],
        "authorities": ["identity.category", "tests.report"],
        "commission": ["identity.category", "materials.hazardous"],
    }


def test_an_audience_without_fields_has_an_empty_view() -> None:
    disclosure = tree([HAZARDOUS], SEED)

    shown = view(disclosure, "public")

    assert shown["fields"] == []
    verify_view(shown, disclosure.root)


def test_a_view_is_a_copy() -> None:
    disclosure = tree(FIELDS, SEED)
    entries(view(disclosure, "public"))[1]["leaf"]["value"]["unit"] = "Wh"

    verify_view(view(disclosure, "public"), disclosure.root)


def unsalted_guesses(shown: dict[str, JsonValue], value: bool) -> set[str]:  # noqa: FBT001
    """Hashes of the hidden leaf with this value, by all that a reader of the view knows."""
    public = [b"", HAZARDOUS.path.encode(), *(entry["leaf"]["path"].encode() for entry in entries(shown))]
    derived = [hmac.digest(key, HAZARDOUS.path.encode(), "sha256")[:16].hex() for key in (*public, bytes(32))]
    hashed = [sha256(each)[:16].hex() for each in public]
    copied_salts = [entry["leaf"]["salt"] for entry in entries(shown)]
    known: list[JsonValue] = ["", None, "00" * 16, *copied_salts, *derived, *hashed]
    leaf = {"path": HAZARDOUS.path, "audiences": sorted(HAZARDOUS.audiences), "value": value}
    guesses = [leaf, *({**leaf, "salt": salt} for salt in known)]
    return {leaf_hash(encode(guess)).hex() for guess in guesses}


def test_a_hidden_field_with_two_possible_values_cannot_be_guessed_from_a_public_view() -> None:
    """The hash of the hidden leaf is in the view, as a neighbour: only the salt keeps its secret."""
    disclosure = tree(FIELDS, SEED)
    shown = view(disclosure, "public")
    neighbours = {each for entry in entries(shown) for each in entry["inclusion_path"]}
    [salt] = [
        entry["leaf"]["salt"]
        for entry in entries(view(disclosure, "commission"))
        if entry["leaf"]["path"] == HAZARDOUS.path
    ]

    for value in (False, True):
        assert not unsalted_guesses(shown, value) & neighbours

    leaf = {"path": HAZARDOUS.path, "audiences": sorted(HAZARDOUS.audiences), "salt": salt}
    with_salt = {value: leaf_hash(encode({**leaf, "value": value})).hex() for value in (False, True)}
    assert [value for value, found in with_salt.items() if found in neighbours] == [False]


def test_nothing_of_a_hidden_field_stands_in_the_view() -> None:
    text = encode(view(tree(FIELDS, SEED), "public")).decode()

    assert "hazardous" not in text
    assert "report" not in text


def test_salts_differ_by_field_and_by_passport_version() -> None:
    seeds = [disclosure_seed(bytes(32), UUID(int=number)) for number in (1, 2)]
    salts = [
        entry["leaf"]["salt"] for seed in seeds for entry in entries(view(tree(FIELDS, seed), "commission"))
    ]

    assert len(set(salts)) == 4


def test_secrets_do_not_show_in_the_representation() -> None:
    disclosure = tree(FIELDS, SEED)
    shown = repr(disclosure)

    assert "salt" not in shown
    assert "EV" not in shown


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "^expected at least one field, found none$"),
        ([HAZARDOUS, HAZARDOUS], "^field 'materials.hazardous' is there twice$"),
        (
            [Field("a", set(), 1)],
            "^/audiences: field 'a': expected at least one of authorities, .*, found none$",
        ),
        (
            [Field("a", {"press"}, 1)],
            "^/audiences/0: field 'a': expected one of authorities, .*, found 'press'$",
        ),
        ([Field("", {"public"}, 1)], "^/path: field '': expected a text that is not empty"),
        ([Field("\ud800", {"public"}, 1)], r"^/path: field '\\ud800': lone surrogate$"),
        ([Field("a", {"public"}, {"b": [2**53]})], "^/value/b/0: field 'a': integers reach from"),
    ],
)
def test_fields_that_make_no_tree_are_refused(fields: list[Field], message: str) -> None:
    with pytest.raises(DisclosureError, match=message):
        tree(fields, SEED)


def test_secrets_of_another_length_are_refused() -> None:
    with pytest.raises(DisclosureError, match=r"^disclosure seed: expected 32 bytes, found 31$"):
        tree(FIELDS, SEED[1:])
    with pytest.raises(DisclosureError, match=r"^disclosure key: expected at least 32 bytes, found 0$"):
        disclosure_seed(b"", UUID(int=1))


def test_an_unknown_audience_has_no_view() -> None:
    with pytest.raises(DisclosureError, match=r"expected one of authorities, .*, found 'press'"):
        view(tree(FIELDS, SEED), "press")


@pytest.fixture(scope="module")
def disclosure() -> Disclosure:
    return tree(FIELDS, SEED)


def test_a_view_of_another_tree_is_refused_with_both_roots(disclosure: Disclosure) -> None:
    other = tree(FIELDS, sha256(b"another seed"))

    with pytest.raises(
        DisclosureError, match=f"^/fields/0: not in the tree: root: expected {other.root.hex()}, found"
    ):
        verify_view(view(disclosure, "public"), other.root)


def test_every_flipped_bit_of_a_leaf_is_noticed(disclosure: Disclosure) -> None:
    for entry in range(2):
        data = encode(entries(view(disclosure, "public"))[entry]["leaf"])
        for bit in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            shown = copied(view(disclosure, "public"))
            try:
                shown["fields"][entry]["leaf"] = json.loads(flipped)
            except ValueError:
                continue  # not even JSON
            with pytest.raises(DisclosureError):
                verify_view(shown, disclosure.root)


@given(st.integers(0, 1), st.integers(0, 1), st.integers(0, 255))
def test_every_flipped_bit_of_an_inclusion_path_is_noticed(entry: int, step: int, bit: int) -> None:
    disclosure = tree(FIELDS, SEED)
    shown = copied(view(disclosure, "public"))
    path = shown["fields"][entry]["inclusion_path"]
    path[step] = f"{int(path[step], 16) ^ 1 << bit:064x}"

    with pytest.raises(DisclosureError, match=f"^/fields/{entry}: not in the tree"):
        verify_view(shown, disclosure.root)


ILL_FORMED: list[tuple[dict[str, Any], str]] = [
    ({"audiences": ["public", "commission", "legitimate_interest", "authorities"]}, "audiences"),
    ({"audiences": [*sorted(Audience), "public"]}, "audiences"),
    ({"audiences": []}, "audiences"),
    ({"audiences": "public"}, "audiences"),
    ({"audiences": [1]}, "audiences/0"),
    ({"salt": "AB" * 16}, "salt"),
    ({"salt": "ab" * 15}, "salt"),
    ({"salt": None}, "salt"),
    ({"path": ""}, "path"),
    ({"value": 1.5}, "value"),
    ({"value": {"a": [float("nan")]}}, "value/a/0"),
]


@pytest.mark.parametrize(("change", "place"), ILL_FORMED)
def test_ill_formed_leaves_are_refused_with_their_place(
    disclosure: Disclosure, change: dict[str, Any], place: str
) -> None:
    shown = copied(view(disclosure, "public"))
    shown["fields"][0]["leaf"].update(change)

    with pytest.raises(DisclosureError) as caught:
        verify_view(shown, disclosure.root)

    assert caught.value.path == f"/fields/0/leaf/{place}"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"leaf_index": -1}, "/leaf_index"),
        ({"leaf_index": 10**5000}, "/leaf_index"),
        ({"leaf_index": True}, "/leaf_index"),
        ({"leaf_index": 4}, ""),
        ({"inclusion_path": ["00"]}, "/inclusion_path/0"),
        ({"inclusion_path": None}, "/inclusion_path"),
        ({"leaf": None}, "/leaf"),
        ({"note": None}, ""),
    ],
)
def test_ill_formed_entries_are_refused_with_their_place(
    disclosure: Disclosure, change: dict[str, Any], place: str
) -> None:
    shown = copied(view(disclosure, "public"))
    shown["fields"][1].update(change)

    with pytest.raises(DisclosureError) as caught:
        verify_view(shown, disclosure.root)

    assert caught.value.path == f"/fields/1{place}"


def test_fields_out_of_order_are_refused(disclosure: Disclosure) -> None:
    shown = copied(view(disclosure, "public"))
    shown["fields"].reverse()

    with pytest.raises(
        DisclosureError, match=r"^/fields/1: out of order: 'identity.category' stands after 'perf"
    ):
        verify_view(shown, disclosure.root)


def test_a_tree_whose_leaves_are_out_of_order_shows_whichever_way_a_view_lists_them(
    disclosure: Disclosure,
) -> None:
    leaves = disclosure.leaves[::-1]
    unordered = Disclosure(leaves, build(leaf_hash(leaf.canonical) for leaf in leaves))
    by_index = copied(view(unordered, "public"))
    by_path = {**by_index, "fields": by_index["fields"][::-1]}

    for shown in (by_index, by_path):
        with pytest.raises(DisclosureError, match=r"^/fields/1: out of order"):
            verify_view(shown, unordered.root)


@pytest.mark.parametrize("found", [None, [], {}, "view", {"fields": []}])
def test_what_is_no_view_is_refused(found: object) -> None:
    with pytest.raises(DisclosureError):
        verify_view(found, bytes(32))
