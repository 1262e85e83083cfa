import re
import string
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.hashing import base32, sha256
from bpc_worker.core.passport.qr_text import QrText, QrTextError, gs1_digital_link, parse, qr_text

VERSION_ID = UUID("6f1c7a52-0c5e-5d0b-9a51-3f0f6f0c1e77")
PAYLOAD, PROOF, RECEIPT = sha256(b"payload"), sha256(b"proof"), sha256(b"receipt")
TEXT = (
    "BPC1|pv=6f1c7a52-0c5e-5d0b-9a51-3f0f6f0c1e77"
    "|ph=EOPVT3KV4434O4KHZ5K22DA3AMFW27XHJCTUE2KS7G4FFVNJGXSQ"
    "|pr=YHG2EY3CQKFWSJTFCICSXF6LG4U6HMCS4SW6I7AKDYZYHXX6OPDQ"
    "|rh=N4ZIMCIQZIH3FIQMP7NBINTGWCO37DNVEOAZLSIKLBX3KQX7BSWQ"
)
SET_82 = string.ascii_letters + string.digits + "!\"%&'()*+,-./:;<=>?_"
RESOLVER = "https://id.example.eu"
GTIN, SERIAL = "09506000134352", "BAT-0001"

hashes = st.binary(min_size=32, max_size=32)
texts = st.builds(
    qr_text,
    passport_version_id=st.uuids(),
    payload_hash=hashes,
    proof_root_hash=hashes,
    receipt_hash=hashes,
)


def written(parsed: QrText) -> str:
    return qr_text(
        passport_version_id=parsed.passport_version_id,
        payload_hash=parsed.payload_hash,
        proof_root_hash=parsed.proof_root_hash,
        receipt_hash=parsed.receipt_hash,
    )


def reason(text: str) -> str:
    with pytest.raises(QrTextError) as caught:
        parse(text)
    return str(caught.value)


def with_field(name: str, value: str) -> str:
    return re.sub(rf"{name}=[^|]*", f"{name}={value}", TEXT)


def test_the_text_has_the_published_form_and_212_characters() -> None:
    values = QrText(
        passport_version_id=VERSION_ID, payload_hash=PAYLOAD, proof_root_hash=PROOF, receipt_hash=RECEIPT
    )

    assert written(values) == TEXT
    assert len(TEXT) == 212


def test_parsing_returns_the_four_values() -> None:
    parsed = parse(TEXT)

    assert parsed.passport_version_id == VERSION_ID
    assert [parsed.payload_hash, parsed.proof_root_hash, parsed.receipt_hash] == [PAYLOAD, PROOF, RECEIPT]


@given(texts)
def test_writing_what_was_parsed_gives_the_same_text(text: str) -> None:
    assert len(text) == 212
    assert written(parse(text)) == text


@given(st.integers(0, 211), st.text(max_size=2) | st.sampled_from(string.printable))
def test_no_text_is_read_that_would_not_be_written(at: int, instead: str) -> None:
    changed = TEXT[:at] + instead + TEXT[at + 1 :]
    try:
        parsed = parse(changed)
    except QrTextError:
        return

    assert written(parsed) == changed


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    assert reason(text)


@pytest.mark.parametrize("length", [0, 20, 31, 33, 64])
@pytest.mark.parametrize(("name", "code"), [("payload", "ph"), ("proof_root", "pr"), ("receipt", "rh")])
def test_a_hash_of_another_length_is_refused(name: str, code: str, length: int) -> None:
    digests = {"payload_hash": PAYLOAD, "proof_root_hash": PROOF, "receipt_hash": RECEIPT}
    digests[f"{name}_hash"] = bytes(length)

    with pytest.raises(QrTextError, match=f"^{code}: a SHA-256 hash has 32 bytes, not {length}$"):
        qr_text(passport_version_id=VERSION_ID, **digests)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with '', not with 'BPC1|'"),
        ("bpc1" + TEXT[4:], "begins with 'bpc1', not with 'BPC1|'"),
        ("BPC2" + TEXT[4:], "begins with 'BPC2', not with 'BPC1|'"),
        (" " + TEXT, "begins with ' BPC1', not with 'BPC1|'"),
        ("x" * 500, f"begins with '{'x' * 40}'..., not with 'BPC1|'"),
        ("\ud800", r"begins with '\ud800', not with 'BPC1|'"),
        ("BPC1", "fields are pv, ph, pr, rh in this order, found ''"),
        (TEXT.rpartition("|")[0], "fields are pv, ph, pr, rh in this order, found 'pv, ph, pr'"),
        (TEXT.replace("pr=", "PR="), "fields are pv, ph, pr, rh in this order, found 'pv, ph, PR, rh'"),
        (
            TEXT.replace("ph=", "xx=").replace("pr=", "ph=").replace("xx=", "pr="),
            "fields are pv, ph, pr, rh in this order, found 'pv, pr, ph, rh'",
        ),
        (with_field("pv", ""), "pv: '' is not a lower-case uuid with hyphens"),
        (with_field("pv", "None"), "pv: 'None' is not a lower-case uuid with hyphens"),
        (
            with_field("pv", str(VERSION_ID).upper()),
            "pv: '6F1C7A52-0C5E-5D0B-9A51-3F0F6F0C1E77' is not a lower-case uuid with hyphens",
        ),
        (
            with_field("pv", VERSION_ID.hex),
            "pv: '6f1c7a520c5e5d0b9a513f0f6f0c1e77' is not a lower-case uuid with hyphens",
        ),
        (with_field("ph", "A" * 51), "ph: 51 characters, a hash has 52"),
        (TEXT + "\n", "rh: 53 characters, a hash has 52"),
        (TEXT + "|xx=1", "rh: 57 characters, a hash has 52"),
        (with_field("pr", "A" * 9 + "a" + "A" * 42), "pr: 'a' at character 9 is not one of A-Z and 2-7"),
        (with_field("pr", "A" * 51 + "="), "pr: '=' at character 51 is not one of A-Z and 2-7"),
        (with_field("pr", "Ａ" * 52), r"pr: '\uff21' at character 0 is not one of A-Z and 2-7"),  # noqa: RUF001
        (
            with_field("rh", "A" * 51 + "B"),
            "rh: ends with 'B', whose last bits are beyond 32 bytes; the same hash ends with 'A'",
        ),
    ],
)
def test_an_error_says_what_is_wrong(text: str, said: str) -> None:
    assert reason(text) == said


def test_every_hash_has_one_text_only() -> None:
    """Of the 32 characters that could stand last, two leave the four bits beyond 32 bytes empty."""
    start = base32(PAYLOAD)[:-1]
    read = [last for last in string.ascii_uppercase + "234567" if accepts(with_field("ph", start + last))]

    assert read == ["A", "Q"]


def accepts(text: str) -> bool:
    try:
        parse(text)
    except QrTextError:
        return False
    return True


@pytest.mark.parametrize(
    ("gtin", "padded"),
    [
        ("09506000134352", "09506000134352"),
        ("9506000134352", "09506000134352"),
        ("4006381333931", "04006381333931"),
        ("614141999996", "00614141999996"),
        ("73513537", "00000073513537"),
        ("10614141000415", "10614141000415"),
    ],
)
def test_the_link_names_the_gtin_with_14_digits(gtin: str, padded: str) -> None:
    link = gs1_digital_link(RESOLVER, gtin=gtin, serial=SERIAL)

    assert link == f"https://id.example.eu/01/{padded}/21/BAT-0001"


@pytest.mark.parametrize(
    ("gtin", "said"),
    [
        ("", "gtin: '' does not have 8, 12, 13 or 14 digits"),
        ("506000134352x", "gtin: '506000134352x' does not have 8, 12, 13 or 14 digits"),
        ("123456789", "gtin: '123456789' does not have 8, 12, 13 or 14 digits"),
        ("009506000134352", "gtin: '009506000134352' does not have 8, 12, 13 or 14 digits"),
        ("7351353\u0667", r"gtin: '7351353\u0667' does not have 8, 12, 13 or 14 digits"),
        ("9506000134352\n", r"gtin: '9506000134352\n' does not have 8, 12, 13 or 14 digits"),
        ("9506000134353", "gtin: 9506000134353 ends with 3, its check digit is 2"),
        ("9506000143352", "gtin: 9506000143352 ends with 2, its check digit is 4"),
    ],
)
def test_a_wrong_gtin_is_refused(gtin: str, said: str) -> None:
    with pytest.raises(QrTextError) as caught:
        gs1_digital_link(RESOLVER, gtin=gtin, serial=SERIAL)

    assert str(caught.value) == said


def test_character_set_82_has_82_characters() -> None:
    assert len(set(SET_82)) == 82


@given(st.text(SET_82, min_size=1, max_size=20).filter(lambda serial: serial not in {".", ".."}))
def test_a_serial_comes_back_from_the_path_of_the_link(serial: str) -> None:
    link = urlsplit(gs1_digital_link(RESOLVER, gtin=GTIN, serial=serial))
    *_, key, item = link.path.split("/")

    assert (link.netloc, link.query, link.fragment, key) == ("id.example.eu", "", "", "21")
    assert unquote(item) == serial


def test_reserved_characters_of_a_serial_are_encoded() -> None:
    assert gs1_digital_link(RESOLVER, gtin=GTIN, serial="A/B?C%").endswith("/21/A%2FB%3FC%25")


@pytest.mark.parametrize(
    ("serial", "said"),
    [
        ("", "serial: 0 characters, allowed are 1 to 20"),
        ("A" * 21, "serial: 21 characters, allowed are 1 to 20"),
        ("A B", "serial: ' ' at character 1 is not in GS1 character set 82"),
        ("A#", "serial: '#' at character 1 is not in GS1 character set 82"),
        ("ü", r"serial: '\xfc' at character 0 is not in GS1 character set 82"),
        ("A\n", r"serial: '\n' at character 1 is not in GS1 character set 82"),
        (".", "serial: '.' cannot stand in a link"),
        ("..", "serial: '..' cannot stand in a link"),
    ],
)
def test_a_wrong_serial_is_refused(serial: str, said: str) -> None:
    with pytest.raises(QrTextError) as caught:
        gs1_digital_link(RESOLVER, gtin=GTIN, serial=serial)

    assert str(caught.value) == said


@given(st.characters().filter(lambda character: character not in SET_82))
def test_no_character_outside_the_set_is_accepted(character: str) -> None:
    with pytest.raises(QrTextError, match="is not in GS1 character set 82"):
        gs1_digital_link(RESOLVER, gtin=GTIN, serial=character)


@pytest.mark.parametrize(
    ("resolver", "stem"),
    [
        ("https://id.example.eu", "https://id.example.eu"),
        ("https://id.example.eu/", "https://id.example.eu"),
        ("https://localhost:8443", "https://localhost:8443"),
        ("https://xn--bcher-kva.example/dpp/v1/", "https://xn--bcher-kva.example/dpp/v1"),
        ("https://id.example.eu/a%20b/~x@y", "https://id.example.eu/a%20b/~x@y"),
    ],
)
def test_the_link_stands_below_the_resolver(resolver: str, stem: str) -> None:
    assert gs1_digital_link(resolver, gtin=GTIN, serial=SERIAL) == f"{stem}/01/{GTIN}/21/{SERIAL}"


@pytest.mark.parametrize(
    ("resolver", "said"),
    [
        ("", "must begin with 'https://'"),
        ("id.example.eu", "must begin with 'https://'"),
        ("http://id.example.eu", "must begin with 'https://'"),
        ("HTTPS://id.example.eu", "must begin with 'https://'"),
        (" https://id.example.eu", "must begin with 'https://'"),
        ("https://id.example.eu?", "may not have a query"),
        ("https://id.example.eu/?a=b", "may not have a query"),
        ("https://id.example.eu#", "may not have a fragment"),
        ("https://id.example.eu/x#y?z", "may not have a fragment"),
        ("https://user@id.example.eu", "may not have a user or a password"),
        ("https://user:pass@id.example.eu/x", "may not have a user or a password"),
        ("https://", "the host must be a name"),
        ("https:///x", "the host must be a name"),
        ("https://id..example.eu", "the host must be a name"),
        ("https://-id.example.eu", "the host must be a name"),
        ("https://id.example.eu.", "the host must be a name"),
        ("https://bücher.example", "the host must be a name"),
        ("https://id.example.eu\n", "the host must be a name"),
        ("https://id.example.eu\\x", "the host must be a name"),
        ("https://[::1]", "the host must be a name"),
        ("https://id.example.eu:", "the port must be a number"),
        ("https://id.example.eu:0", "the port must be a number"),
        ("https://id.example.eu:65536", "the port must be a number"),
        ("https://id.example.eu:4x3", "the port must be a number"),
        ("https://id.example.eu//", "the path has an empty or dotted segment"),
        ("https://id.example.eu/../x", "the path has an empty or dotted segment"),
        ("https://id.example.eu/a b", "or a character to be encoded"),
        ("https://id.example.eu/%2", "or a character to be encoded"),
    ],
)
def test_a_resolver_that_is_no_plain_https_address_is_refused(resolver: str, said: str) -> None:
    with pytest.raises(QrTextError, match=f"^resolver: .*{said}"):
        gs1_digital_link(resolver, gtin=GTIN, serial=SERIAL)


def test_an_error_does_not_show_the_password_of_a_resolver() -> None:
    with pytest.raises(QrTextError) as caught:
        gs1_digital_link("https://user:hunter2@id.example.eu", gtin=GTIN, serial=SERIAL)

    assert "hunter2" not in str(caught.value)
