"""What is signed, by kind: no message of one kind is one of another, whatever the documents are."""

import json
from base64 import urlsafe_b64decode
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind, message

DOCUMENT = encode({"a": "document"})
KEY_IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)


def test_a_receipt_is_signed_by_its_32_raw_bytes() -> None:
    assert message(Kind.RECEIPT, DOCUMENT, "key-1") == sha256(DOCUMENT)


def test_a_checkpoint_is_signed_by_its_name_and_its_hash() -> None:
    assert message(Kind.CHECKPOINT, DOCUMENT, "key-1") == b"BPC-CHECKPOINT-3\0" + sha256(DOCUMENT)


@pytest.mark.parametrize(("kind", "typ"), [(Kind.VIEW, "dc+sd-jwt"), (Kind.STATUS_LIST, "statuslist+jwt")])
def test_views_and_status_lists_are_signed_by_the_signing_input_of_a_jws(kind: Kind, typ: str) -> None:
    header, claims = message(kind, DOCUMENT, "schlüssel/1").split(b".")

    assert decoded(header) == encode({"alg": "EdDSA", "kid": "schlüssel/1", "typ": typ})
    assert decoded(claims) == DOCUMENT
    assert header.startswith(b"eyJ")
    assert b"=" not in header + claims


def decoded(part: bytes) -> bytes:
    data = urlsafe_b64decode(part + b"=" * (-len(part) % 4))
    assert isinstance(json.loads(data), dict)
    return data


@given(st.dictionaries(st.sampled_from(list(Kind)), st.binary(max_size=99), min_size=2), KEY_IDS)
def test_no_message_of_one_kind_is_one_of_another(documents: dict[Kind, bytes], key_id: str) -> None:
    made = {kind: message(kind, document, key_id) for kind, document in documents.items()}

    for one, other in combinations(made.values(), 2):
        assert one != other
    for kind, each in made.items():
        expected = {Kind.RECEIPT: {32}, Kind.CHECKPOINT: {49}}.get(kind, range(57, 10_000))
        assert len(each) in expected
