"""Whoever signs, the signature is verified before it is used, and the private key is shown to nobody."""

import copy
import pickle
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Fault, KeyRegistry, KeyStatus, RegisteredKey, SignatureError, verify
from bpc_worker.domain.signing import sign_document
from bpc_worker.keys.signers import LocalSigner

if TYPE_CHECKING:
    from bpc_worker.handler_api import Signer

SEED = sha256(b"a seed of the tests")
RECEIPT = encode({"a": "receipt"})
SIGNER = LocalSigner("key-1", SEED)


def registry(status: KeyStatus = KeyStatus.ACTIVE) -> KeyRegistry:
    return KeyRegistry({"key-1": RegisteredKey(SIGNER.public_key, status)})


async def test_an_active_key_signs() -> None:
    signature = await sign_document(SIGNER, registry(), Kind.RECEIPT, RECEIPT, key_id="key-1")

    verify(registry(), "key-1", Kind.RECEIPT, RECEIPT, signature)


@pytest.mark.parametrize(
    ("status", "fault"), [(KeyStatus.RETIRED, Fault.NOT_ACTIVE), (KeyStatus.REVOKED, Fault.REVOKED)]
)
async def test_only_an_active_key_signs(status: KeyStatus, fault: Fault) -> None:
    with pytest.raises(SignatureError) as caught:
        await sign_document(SIGNER, registry(status), Kind.RECEIPT, RECEIPT, key_id="key-1")

    assert caught.value.fault is fault


async def test_a_key_signs_nothing_that_is_not_its_purpose() -> None:
    with pytest.raises(SignatureError, match=r"^key 'key-1' is for another purpose: checkpoint, passport,"):
        await sign_document(SIGNER, registry(), Kind.STATUS_LIST, RECEIPT, key_id="key-1")


@dataclass
class FaultySigner:
    """As a broken HSM would be: the right key, a wrong answer."""

    answer: bytes
    key_id: str = "key-1"
    public_key: bytes = SIGNER.public_key

    async def sign(self, kind: Kind, document: bytes) -> bytes:
        return self.answer if kind and document else b""


@pytest.mark.parametrize("kind", ["empty", "zeros", "of another receipt", "of another kind"])
async def test_a_wrong_signature_is_noticed_before_it_is_used_and_is_not_shown(kind: str) -> None:
    """A faulty Ed25519 signature beside the right one gives the private key away."""
    other = await SIGNER.sign(Kind.RECEIPT, RECEIPT + b" ")
    answers = {"empty": b"", "zeros": bytes(64), "of another kind": await SIGNER.sign(Kind.VIEW, RECEIPT)}
    signer: Signer = FaultySigner(answers.get(kind, other))

    with pytest.raises(SignatureError) as caught:
        await sign_document(signer, registry(), Kind.RECEIPT, RECEIPT, key_id="key-1")

    assert other.hex() not in str(caught.value)
    assert other[:32].hex() not in repr(caught.value)


def test_a_signer_shows_its_key_in_no_way() -> None:
    shown = f"{SIGNER!r} {SIGNER} {SIGNER.__slots__}"

    assert SIGNER.public_key.hex() in shown
    assert SEED.hex() not in shown
    assert repr(SEED)[2:-1] not in shown
    assert not hasattr(SIGNER, "__dict__")
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="neither pickled nor copied"):
            act(SIGNER)


async def test_a_traceback_with_locals_does_not_show_it_either() -> None:
    try:
        await sign_document(SIGNER, registry(), Kind.RECEIPT, RECEIPT, key_id="key-2")
    except SignatureError as error:
        told = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    else:
        pytest.fail("that is no key of the registry")

    assert "LocalSigner" in told
    assert SEED.hex() not in told
    assert repr(SEED)[2:-1] not in told
