import pytest

from bpc_worker.core.base.hashing import base32, sha256, sha256_hex


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"f", "MY"),
        (b"fo", "MZXQ"),
        (b"foo", "MZXW6"),
        (b"foob", "MZXW6YQ"),
        (b"fooba", "MZXW6YTB"),
        (b"foobar", "MZXW6YTBOI"),
    ],
)
def test_base32_is_that_of_rfc_4648_without_padding(data: bytes, text: str) -> None:
    assert base32(data) == text


def test_a_digest_takes_52_characters_in_base32() -> None:
    assert len(base32(sha256(b""))) == 52


def test_sha256_of_abc_is_that_of_fips_180() -> None:
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    assert sha256_hex(b"abc") == expected
    assert sha256(b"abc") == bytes.fromhex(expected)
