import pytest

from bpc_worker.core.base import base64url
from bpc_worker.core.base.forms import FormError


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"", ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xfb\xff", "-_8"), (bytes(32), "A" * 43)],
)
def test_bytes_have_one_text(data: bytes, text: str) -> None:
    assert base64url.encode(data) == text
    assert base64url.decode(text) == data


@pytest.mark.parametrize(
    "text", ["Zg==", "Zg=", "Z", "Zm9vY", "+/8", "Zm 8", "Zm8\n", "\uff21A", 5, None, b"Zg"]
)
def test_other_letters_and_lengths_are_refused(text: object) -> None:
    with pytest.raises(FormError, match="expected base64url without padding"):
        base64url.decode(text)


def test_of_sixteen_last_letters_one_is_read() -> None:
    """Two bytes of three letters have two bits that say nothing, one byte of two letters four."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for letter in letters[1:16]:
        with pytest.raises(FormError, match="another spelling of base64url: the last letter would be 'A'"):
            base64url.decode(f"A{letter}")
