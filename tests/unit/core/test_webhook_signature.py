"""What a receiver checks, by a published example and by a library that is not ours."""

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook

from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.webhook_signature import (
    WebhookKeys,
    WebhookSignatureError,
    bpc_signature,
    headers,
    public_key_from,
    public_key_text,
    secret_from,
    verify,
)

NOW = 1_700_000_000
BODY = '{"text":"Größe 🔋 a/b"}'.encode()
ID = UUID("019a8f3e-6f2b-7c44-9d51-0f8f7f6d2a10")
OLD = WebhookKeys(secret=b"o" * 24, seed=b"O" * 32)
NEW = WebhookKeys(secret=b"n" * 64, seed=b"N" * 32)


def sent(*keys: WebhookKeys, at: int = NOW) -> dict[str, str]:
    return headers(ID, "PASSPORT_SIGNED", at, BODY, keys or (NEW,))


def test_the_headers_of_an_attempt_have_the_names_of_the_contract() -> None:
    assert list(sent()) == [
        "Content-Type", "X-BPC-Signature", "X-BPC-Event-Type", "X-BPC-Delivery-Id", "webhook-id",
        "webhook-timestamp", "webhook-signature",
    ]  # fmt: skip
    assert sent()["webhook-id"] == sent()["X-BPC-Delivery-Id"] == str(ID)


def test_the_hmac_is_that_of_rfc_4231() -> None:
    """Test case 2, whose key is text as a secret here is."""
    assert bpc_signature("Jefe", b"what do ya want for nothing?") == (
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


@pytest.mark.parametrize("keys", [(NEW,), (NEW, OLD)], ids=["one", "both"])
def test_the_library_of_the_standard_verifies_with_every_secret_that_signs(
    keys: tuple[WebhookKeys, ...],
) -> None:
    now = int(datetime.now(UTC).timestamp())
    for each in keys:
        Webhook(each.secret_text).verify(BODY, sent(*keys, at=now))


def test_while_a_secret_is_replaced_the_one_signature_over_the_body_is_the_old_ones() -> None:
    both = sent(NEW, OLD)

    assert both["X-BPC-Signature"] == "sha256=" + bpc_signature(OLD.secret_text, BODY)
    assert [part.partition(",")[0] for part in both["webhook-signature"].split()] == ["v1", "v1a"] * 2


def test_another_time_is_another_signature_over_the_same_id() -> None:
    first, second = sent(at=NOW), sent(at=NOW + 1)

    assert first["webhook-id"] == second["webhook-id"]
    assert first["webhook-signature"] != second["webhook-signature"]
    assert first["X-BPC-Signature"] == second["X-BPC-Signature"]


def test_verify_says_which_signatures_hold() -> None:
    given = {name.upper(): f" {value} " for name, value in sent(NEW, OLD).items()}
    public_key = public_key_text(NEW.public_key)

    assert verify(given, BODY, now=NOW, secret=OLD.secret_text, public_key=public_key) == [
        "X-BPC-Signature", "webhook-signature v1", "webhook-signature v1a",
    ]  # fmt: skip
    del given["X-BPC-SIGNATURE"]
    assert verify(given, BODY, now=NOW, secret=NEW.secret_text) == ["webhook-signature v1"]
    assert verify(given, BODY, now=None, public_key=public_key) == ["webhook-signature v1a"]


def without(name: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda given: {key: value for key, value in given.items() if key != name}


def changed(name: str, value: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda given: given | {name: value}


@pytest.mark.parametrize(
    ("change", "body", "now", "words"),
    [
        (dict, BODY + b" ", NOW, "X-BPC-Signature is not"),
        (without("X-BPC-Signature"), BODY + b" ", NOW, "no v1 of this secret"),
        (changed("webhook-id", "other"), BODY, NOW, "no v1 of this secret"),
        (changed("webhook-timestamp", str(NOW + 1)), BODY, NOW, "no v1 of this secret"),
        (changed("webhook-timestamp", "²"), BODY, NOW, "webhook-timestamp is missing"),
        (without("webhook-id"), BODY, NOW, "webhook-id or webhook-timestamp is missing"),
        (changed("webhook-signature", "v1,!!! v1 v2,AAAA"), BODY, NOW, "no v1 of this secret"),
        (dict, BODY, NOW + 301, "301 s old"),
        (dict, BODY, NOW - 301, "-301 s old"),
        (lambda _: {}, BODY, NOW, "no signature to check"),
    ],
)
def test_what_is_not_as_it_was_sent_is_refused(
    change: Callable[[dict[str, str]], dict[str, str]], body: bytes, now: int, words: str
) -> None:
    with pytest.raises(WebhookSignatureError, match=words):
        verify(change(sent()), body, now=now, secret=NEW.secret_text)


def test_a_signature_of_another_key_is_refused() -> None:
    with pytest.raises(WebhookSignatureError, match="no v1a of this key"):
        verify(sent(), BODY, now=NOW, public_key=public_key_text(OLD.public_key))
    with pytest.raises(WebhookSignatureError, match="no v1a of this key"):
        verify(
            sent() | {"webhook-signature": "v1a,AAAA"},
            BODY,
            now=NOW,
            public_key=public_key_text(NEW.public_key),
        )


def test_secrets_and_keys_have_one_spelling() -> None:
    assert secret_from(NEW.secret_text) == NEW.secret
    assert public_key_from(public_key_text(NEW.public_key)) == NEW.public_key
    assert NEW.public_key == Ed25519Signer("", NEW.seed).public_key
    assert WebhookKeys.from_bytes(NEW.to_bytes()) == NEW
    assert "n" * 8 not in repr(NEW)


@pytest.mark.parametrize(
    "text", ["", "secret", "whsec_", "whsec_!!!!", f"whsec_{b64encode(bytes(23)).decode()}", "whpk_AAAA"]
)
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(WebhookSignatureError, match="whsec_"):
        secret_from(text)


@pytest.mark.parametrize("text", ["", "whsec_AAAA", "whpk_", "whpk_AAAA", "whpk_=", "AAAA"])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(WebhookSignatureError, match="whpk_"):
        public_key_from(text)


@pytest.mark.parametrize(
    ("secret", "seed"), [(b"x" * 23, b"s" * 32), (b"x" * 65, b"s" * 32), (b"x" * 32, b"s")]
)
def test_keys_of_other_sizes_are_none(secret: bytes, seed: bytes) -> None:
    with pytest.raises(WebhookSignatureError, match="24 to 64"):
        WebhookKeys(secret=secret, seed=seed)
