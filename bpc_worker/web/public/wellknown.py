"""What machines look for under a host: keys, its issuer, its resolver, its status lists."""

from collections.abc import Sequence
from typing import Final

import msgspec

from bpc_worker.core.base.base64url import encode
from bpc_worker.domain.records import SigningKey
from bpc_worker.files.keys import base64

STATUS_TYPE: Final = "application/statuslist+jwt"


def _jwk(key: SigningKey) -> dict[str, str]:
    """RFC 7517 and 8037."""
    return {
        "kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key), "kid": key.key_id, "use": "sig",
        "alg": "EdDSA",
    }  # fmt: skip


def _set(keys: Sequence[SigningKey]) -> dict[str, object]:
    return {"keys": [_jwk(each) for each in keys]}


def jwks(_: str, keys: Sequence[SigningKey]) -> bytes:
    return msgspec.json.encode(_set(keys))


def issuer(host: str, keys: Sequence[SigningKey]) -> bytes:
    """`/.well-known/jwt-vc-issuer` of SD-JWT VC."""
    return msgspec.json.encode({"issuer": f"https://{host}", "jwks": _set(keys)})


def key_file(host: str, keys: Sequence[SigningKey]) -> bytes:
    """As `bpc-worker keys export` writes it, for `passport verify --keys`."""
    found = [
        {
            "key_id": each.key_id,
            "public_key": base64(each.public_key),
            "purposes": sorted(each.purposes),
            "status": each.status,
        }
        for each in keys
    ]
    return msgspec.json.encode({"issuers": [f"https://{host}"], "keys": found})


def resolver(host: str) -> bytes:
    """`/.well-known/gs1resolver`, after GS1-Conformant Resolver."""
    return msgspec.json.encode(
        {
            "name": "bpc-worker",
            "resolverRoot": f"https://{host}",
            "supportedPrimaryKeys": ["01"],
            "linkTypeDefaultCanBeLinkset": False,
            "supportedLinkType": [
                {"namespace": "https://gs1.org/voc/", "prefix": "gs1:"},
            ],
            "supportedContextValuesEnumerated": [],
        }
    )
