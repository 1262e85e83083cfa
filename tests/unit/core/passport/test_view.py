import json
from dataclasses import replace
from typing import Any

import pytest

from bpc_worker.core.base import base64url
from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.base.messages import Kind, message
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus, RegisteredKey
from bpc_worker.core.passport.disclosures import STATEMENTS, Shown, disclose, from_lines, lines_of
from bpc_worker.core.passport.receipt import parse_signed
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.view import assemble, claims, cut, jws
from bpc_worker.core.passport.view_check import VerifiedView, verify_view
from bpc_worker.core.passport.view_text import ViewError, parse_view
from tests.support import passports
from tests.support.generated import inputs
from tests.support.passports import SIGNER, whole_view
from tests.vectors import load

EXAMPLE = load("view/example")
GIVEN, EXPECTED = EXAMPLE["input"], EXAMPLE["expected"]
RECEIPT = parse_signed(load("receipt/example")["expected"]["signed"].encode()).receipt
PUBLIC_KEY = bytes.fromhex(load("sign/example")["expected"]["public_key"])
REGISTRY = KeyRegistry({"vectors-2027": RegisteredKey(PUBLIC_KEY, KeyStatus.ACTIVE)})
WHOLE: str = EXPECTED["whole"]
VIEWS: dict[str, str] = EXPECTED["views"]
SIGNATURE = base64url.decode(EXPECTED["jws"].rpartition(".")[2])


def shown(salts: Salts) -> list[Shown]:
    fields = [
        Shown(each["path"], tuple(each["audiences"]), each["value"], salts.field(each["path"]))
        for each in GIVEN["fields"]
    ]
    return fields + [
        Shown(
            f"{STATEMENTS}{each['code']}",
            tuple(each["audiences"]),
            {name: each[name] for name in ("holds", "message", "severity")},
            salts.statement(each["code"]),
        )
        for each in GIVEN["statements"]
    ]


def refused(text: str, **wanted: Any) -> ViewError:
    with pytest.raises(ViewError) as caught:
        verify_view(text, REGISTRY, **wanted)
    return caught.value


def test_the_golden_fields_give_the_golden_disclosures() -> None:
    salts = Salts(bytes.fromhex(EXPECTED["seed"]))
    sets = [tuple(names) for names in GIVEN["sets"]]

    made = disclose(reversed(shown(salts)), [*sets, (), *sets], salts)

    assert made.fields.decode() == EXPECTED["fields"]
    assert list(made.disclosures) == EXPECTED["disclosures"]
    assert from_lines(lines_of(made.disclosures)) == EXPECTED["disclosures"]


def test_what_is_for_nobody_is_in_no_set() -> None:
    salts = Salts(bytes(32))

    made = disclose([Shown("a", (), 1, salts.field("a"))], [()], salts)

    assert (made.fields, made.disclosures) == (b"[]", ())


def test_the_golden_claims_follow_from_the_golden_receipt() -> None:
    found = claims(RECEIPT, EXPECTED["fields"].encode())

    assert found.decode() == EXPECTED["claims"]
    assert jws(found, "vectors-2027", SIGNATURE) == EXPECTED["jws"]
    assert assemble(EXPECTED["jws"], EXPECTED["disclosures"]) == WHOLE


def test_what_is_signed_stays_below_what_key_services_take() -> None:
    assert len(message(Kind.VIEW, EXPECTED["claims"].encode(), "vectors-2027")) < 4096
    with pytest.raises(ViewError, match="at most 4096 bytes"):
        claims(replace(RECEIPT, rules_name="r" * 3000), EXPECTED["fields"].encode())


@pytest.mark.parametrize("audience", AUDIENCES)
def test_every_audience_has_its_view_cut_from_the_whole(audience: str) -> None:
    assert cut(WHOLE, audience) == VIEWS[audience]
    assert cut(VIEWS[audience], audience) == VIEWS[audience]


def test_nothing_is_cut_for_a_stranger_or_from_too_little() -> None:
    with pytest.raises(ViewError, match=r"^/claims/audiences: there is nothing for 'press'; it is for auth"):
        cut(WHOLE, "press")
    with pytest.raises(ViewError, match=r"^/disclosures: the one with the digest \S+ is missing$"):
        cut(VIEWS["public"], "commission")


@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_view_is_complete_for_its_audience(audience: str) -> None:
    found = verify_view(
        VIEWS[audience], REGISTRY, audience=audience, unique_identifier=RECEIPT.unique_identifier
    )

    wanted = {each["path"]: each["value"] for each in GIVEN["fields"] if audience in each["audiences"]}
    stated = {
        f"compliance.{each['code']}": {name: each[name] for name in ("holds", "message", "severity")}
        for each in GIVEN["statements"]
        if audience in each["audiences"]
    }
    assert found.fields == wanted | stated
    assert audience in found.complete
    assert found.is_whole is (audience == "commission")  # which may see every set of the example


def test_the_whole_has_everything_and_is_the_view_of_whoever_may_see_that() -> None:
    found = verify_view(WHOLE, REGISTRY)

    assert (found.is_whole, found.complete) == (True, ("commission",))
    assert refused(WHOLE, audience="public").reason.startswith("holds more than public may see: compliance.")
    assert found.text.claims.receipt_hash.hex() == json.loads(EXPECTED["claims"])["receipt_hash"]


def test_a_surplus_set_without_fields_is_noticed_too() -> None:
    """Who sees the disclosure of an empty set learns that nothing is in it."""
    decoded = {text: json.loads(base64url.decode(text)) for text in EXPECTED["disclosures"]}
    [alone] = [text for text, parts in decoded.items() if parts[2] == {"_sd": []}]

    error = refused(f"{VIEWS['public']}{alone}~", audience="public")

    assert error.reason == "holds more than public may see: what is for commission"


@pytest.mark.parametrize("case", load("view/refused")["cases"], ids=lambda case: case["name"])
def test_golden_texts_that_are_no_public_view_are_refused_at_their_place(case: dict[str, Any]) -> None:
    assert refused(case["text"], audience="public").path == case["place"]


def test_without_an_audience_somebody_must_see_all_of_his() -> None:
    signed, around, _, _ = VIEWS["public"].split("~")

    error = refused(f"{signed}~{around}~")

    assert error.path == "/disclosures"
    assert "it is complete for nobody: " in error.reason
    assert "1 missing for public, of what is for authorities, commission" in error.reason


def test_how_many_are_missing_is_said() -> None:
    signed, around, _, _, *others = VIEWS["authorities"][:-1].split("~")

    error = refused("~".join([signed, around, *others, ""]), audience="authorities")

    assert error.reason == "2 missing for authorities, of what is for authorities, commission"
    assert refused(f"{signed}~", audience="public").reason.startswith("1 missing for public")


def test_another_battery_is_noticed() -> None:
    error = refused(VIEWS["public"], unique_identifier="https://id.example.com/p/OTHER")

    assert (error.path, "another battery" in error.reason) == ("/claims/sub", True)


def test_an_audience_that_the_passport_does_not_know_sees_nothing() -> None:
    assert refused(VIEWS["public"], audience="press").reason.startswith("has nothing for press")


def signed_view(**changes: Any) -> str:
    """The public view with other claims or disclosures, signed all the same: only the signer can do that."""
    made = inputs("field a: Int = 1; field b: Int for authorities = 2;", ()).compiled()
    view = parse_view(whole_view(made))
    claimed = json.loads(view.canonical_claims) | changes.get("claims", {})
    data = json.dumps(claimed, sort_keys=True, separators=(",", ":")).encode()
    signature = SIGNER.sign(Kind.VIEW, data)
    return assemble(jws(data, SIGNER.key_id, signature), changes.get("disclosures", view.disclosures))


def verified(text: str) -> VerifiedView:
    return verify_view(text, passports.registry())


def test_the_name_of_rfc_9864_is_taken_too() -> None:
    view = parse_view(VIEWS["public"])
    header = base64url.encode(b'{"alg":"Ed25519","kid":"test-key","typ":"dc+sd-jwt"}')
    text = f"{header}.{base64url.encode(view.canonical_claims)}"
    key = Ed25519Signer("test-key", bytes(range(32)))
    signature = key._private_key.sign(text.encode())  # the signer makes no such message

    assert verified(assemble(f"{text}.{base64url.encode(signature)}", view.disclosures)).complete == (
        "public",
    )


def disclosure(*parts: Any) -> str:
    return base64url.encode(json.dumps(parts, separators=(",", ":")).encode())


def of_set(name: str, value: Any) -> dict[str, Any]:
    """Claims and disclosures of one set that holds this."""
    around = disclosure("A" * 22, name, value)
    return {"claims": {"fields": [{"audiences": ["public"], "_sd": [digest(around)]}]}, "around": around}


def digest(text: str) -> str:
    from bpc_worker.core.passport.disclosures import digest as of

    return of(text)


FIELD = disclosure("A" * 22, "a", 1)
AGAIN = disclosure("B" * 21 + "A", "a", 2)


@pytest.mark.parametrize(
    ("name", "value", "inner", "place"),
    [
        ("in", {"_sd": []}, (), "/disclosures/0/1"),
        ("of", {"_sd": [], "a": 1}, (), "/disclosures/0/2"),
        ("of", [], (), "/disclosures/0/2"),
        ("of", {"_sd": 5}, (), "/disclosures/0/2/_sd"),
        ("of", {"_sd": ["AAAA"]}, (), "/disclosures/0/2/_sd/0"),
        ("of", {"_sd": [digest(FIELD)] * 2}, (FIELD,), "/disclosures/0/2/_sd"),
        ("of", {"_sd": sorted([digest(FIELD), digest(AGAIN)])}, (FIELD, AGAIN), "/disclosures/"),
    ],
)
def test_what_was_signed_wrong_is_refused_at_its_place(
    name: str, value: Any, inner: tuple[str, ...], place: str
) -> None:
    made = of_set(name, value)

    with pytest.raises(ViewError) as caught:
        verified(signed_view(claims=made["claims"], disclosures=[made["around"], *inner]))

    assert caught.value.path.startswith(place)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (disclosure("A" * 22, "of"), "/disclosures/0"),
        (disclosure("A" * 22, "", {"_sd": []}), "/disclosures/0/1"),
        (disclosure("AAAA", "of", {"_sd": []}), "/disclosures/0/0"),
        (disclosure(5, "of", {"_sd": []}), "/disclosures/0/0"),
        (base64url.encode(b"{}"), "/disclosures/0"),
        (base64url.encode(b"[ ]"), "/disclosures/0/0"),
    ],
)
def test_a_disclosure_has_three_parts_in_one_spelling(text: str, place: str) -> None:
    claimed = {"fields": [{"audiences": ["public"], "_sd": [digest(text)]}]}

    with pytest.raises(ViewError) as caught:
        verified(signed_view(claims=claimed, disclosures=[text]))

    assert caught.value.path == place


@pytest.mark.parametrize(
    ("claimed", "place"),
    [
        ({"fields": [{"audiences": ["public"], "_sd": []}]}, "/claims/fields/0/_sd"),
        ({"fields": [{"audiences": [], "_sd": ["A" * 43]}]}, "/claims/fields/0/audiences"),
        ({"fields": {}}, "/claims/fields"),
        ({"iat": -1}, "/claims/iat"),
        ({"iat": "1"}, "/claims/iat"),
        ({"rules": {"name": "r"}}, "/claims/rules"),
        ({"rules": {"name": "", "sha256": "0" * 64}}, "/claims/rules/name"),
        ({"rules": {"name": "r", "sha256": "0"}}, "/claims/rules/sha256"),
        ({"status": {}}, "/claims/status"),
        ({"status": {"status_list": {"idx": 1}}}, "/claims/status/status_list"),
        ({"status": {"status_list": {"idx": 1, "uri": "https://x"}}}, "/claims/status/status_list/uri"),
        (
            {"status": {"status_list": {"idx": -1, "uri": "https://id.example.com/status/1"}}},
            "/claims/status/status_list/idx",
        ),
        ({"law_date": "2027-02-30"}, "/claims/law_date"),
        ({"passport_version_id": "x"}, "/claims/passport_version_id"),
        ({"receipt_hash": "x"}, "/claims/receipt_hash"),
    ],
)
def test_a_claim_has_its_form(claimed: dict[str, Any], place: str) -> None:
    with pytest.raises(ViewError) as caught:
        verified(signed_view(claims=claimed))

    assert caught.value.path == place


def test_a_signature_has_its_length() -> None:
    with pytest.raises(ViewError, match=r"^/signature: expected 64 bytes, found 63$"):
        parse_view(f"{EXPECTED['jws'].rpartition('.')[0]}.{base64url.encode(bytes(63))}~")


@pytest.mark.parametrize("text", ["", "~", "a~", "é~", "a.b.c~", "eyJ.eyJ.~"])
def test_what_is_no_view_is_refused(text: str) -> None:
    with pytest.raises(ViewError):
        parse_view(text)


@pytest.mark.unmeasured
def test_every_flipped_bit_of_a_view_is_noticed() -> None:
    data = VIEWS["authorities"].encode()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ViewError):
            verify_view(bytes(flipped).decode("latin-1"), REGISTRY, audience="authorities")
