"""Views, checked by others: libraries that were written without us, and the lines of the README."""

import json
import re
from pathlib import Path
from typing import Any

import jwt
import pytest
from joserfc import jws
from joserfc.errors import BadSignatureError, JoseError
from joserfc.jwk import OKPKey
from jwcrypto.jwk import JWK
from jwt.algorithms import OKPAlgorithm
from sd_jwt.verifier import SDJWTVerifier

from bpc_worker.core.base import base64url
from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.passport.view import cut
from bpc_worker.core.passport.view_check import verify_view
from tests.support.generated import IDENTIFIER
from tests.support.passports import SIGNER, compiled, registry, some_facts, whole_view
from tests.vectors import load

README = (Path(__file__).parents[2] / "README.md").read_text()
JWK_MEMBERS = {"kty": "OKP", "crv": "Ed25519", "x": base64url.encode(SIGNER.public_key)}
WHOLE = whole_view(compiled(some_facts()))
VIEWS = {audience: cut(WHOLE, audience) for audience in AUDIENCES}
GOLDEN_KEY = base64url.encode(bytes.fromhex(load("sign/example")["expected"]["public_key"]))

pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # joserfc, of the name that all know


def readme_lines() -> str:
    section = README.partition("\n## Check a view in your own program\n")[2].partition("\n## ")[0]
    [found] = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return str(found)


def check_view(text: str, **changes: Any) -> Any:
    names: dict[str, Any] = {}
    exec(readme_lines(), names)  # noqa: S102 - that is the point: as whoever copied them would
    given = {"jwk": JWK_MEMBERS, "issuer": "https://id.example.com", "identifier": IDENTIFIER} | changes
    return names["check_view"](text, **given)


def fields_of(text: str) -> dict[str, Any]:
    return verify_view(text, registry()).fields


@pytest.mark.parametrize("audience", AUDIENCES)
def test_sd_jwt_finds_the_same_fields(audience: str) -> None:
    verifier = SDJWTVerifier(VIEWS[audience], lambda _issuer, _header: JWK(**JWK_MEMBERS))

    payload = verifier.get_verified_payload()

    found = {path: value for one in payload["fields"] for path, value in one.get("of", {}).items()}
    assert found == fields_of(VIEWS[audience])
    assert payload["sub"] == IDENTIFIER


def test_two_libraries_of_jose_verify_the_signature() -> None:
    signed = VIEWS["public"].split("~")[0]
    message, _, _ = signed.rpartition(".")
    forged = f"{message}.{'A' * 86}"
    key = OKPAlgorithm.from_jwk(json.dumps(JWK_MEMBERS))
    okp = OKPKey.import_key(JWK_MEMBERS)

    assert jwt.api_jws.decode_complete(signed, key, algorithms=["EdDSA"])["header"]["kid"] == "test-key"
    assert jws.deserialize_compact(signed, okp, algorithms=["EdDSA"]).headers()["typ"] == "dc+sd-jwt"
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.api_jws.decode_complete(forged, key, algorithms=["EdDSA"])
    with pytest.raises(BadSignatureError):
        jws.deserialize_compact(forged, okp, algorithms=["EdDSA"])


@pytest.mark.parametrize("audience", AUDIENCES)
def test_the_lines_of_the_readme_find_the_same_fields(audience: str) -> None:
    assert check_view(VIEWS[audience], audience=audience) == fields_of(VIEWS[audience])


def test_the_lines_of_the_readme_are_few() -> None:
    assert len([line for line in readme_lines().splitlines() if line.strip()]) <= 35


# Claims that only the issuer could have signed; what the lines do not look at is his affair.
SIGNERS_OWN = {
    "an unknown claim",
    "unsorted audiences",
    "unsorted sets",
    "another kind of document",
    "an unknown key",
}
REFUSED = [case for case in load("view/refused")["cases"] if case["name"] not in SIGNERS_OWN]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_the_lines_of_the_readme_refuse_what_we_refuse(case: dict[str, Any]) -> None:
    golden = load("receipt/example")["input"]
    given = {"issuer": golden["issuer"], "identifier": golden["unique_identifier"]}

    with pytest.raises((ValueError, JoseError)):
        check_view(case["text"], jwk=JWK_MEMBERS | {"x": GOLDEN_KEY}, audience="public", **given)


def test_the_lines_of_the_readme_know_another_battery_issuer_and_audience() -> None:
    for changes in ({"identifier": "https://id.example.com/p/X"}, {"issuer": "https://x"}):
        with pytest.raises(ValueError, match="another issuer, or another battery"):
            check_view(VIEWS["public"], audience="public", **changes)
    with pytest.raises(ValueError, match="nothing for this audience"):
        check_view(VIEWS["public"], audience="press")
    with pytest.raises(ValueError, match="a disclosure is missing"):
        check_view(VIEWS["public"], audience="authorities")
    with pytest.raises(ValueError, match="not for this audience"):
        check_view(WHOLE, audience="public")


def test_what_libraries_do_not_see_we_do() -> None:
    """The reason for those lines: a changed disclosure is dropped in silence."""
    signed, around, first, *rest = VIEWS["public"].split("~")
    salt, path, _ = json.loads(base64url.decode(first))
    changed = base64url.encode(json.dumps([salt, path, "forged"]).encode())

    text = "~".join([signed, around, changed, *rest])
    payload = SDJWTVerifier(text, lambda _issuer, _header: JWK(**JWK_MEMBERS)).get_verified_payload()

    assert not any(path in one.get("of", {}) for one in payload["fields"])
    with pytest.raises(ValueError, match="a disclosure is missing"):
        check_view(text, audience="public")
