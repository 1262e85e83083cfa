"""What a phone opens that has scanned the code on a battery: a real `serve`, with its logins."""

import io
import json
import re
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import zxingcpp
from PIL import Image

from bpc_worker.carrier.code import Printing, code_of, png
from bpc_worker.core.passport.status_list import Status, verify_status_list
from bpc_worker.pipeline.lives import end_life
from bpc_worker.pipeline.passports import revoke
from bpc_worker.postgres.embedded.server import Server
from tests.support import status_lists
from tests.support.public_battery import GTIN, HOST, IDENTIFIER, PDF, SECRET, TEXT, public_battery
from tests.support.serving import Answer, Serving, serving
from tests.support.signed import Signed, clone
from tests.support.worker import until
from tests.unit.test_views_elsewhere import check_view

pytestmark = [pytest.mark.acceptance, pytest.mark.filterwarnings("ignore:EdDSA is deprecated")]

PATH = urlsplit(IDENTIFIER).path
VIEW, JSON, LINKS = "application/dc+sd-jwt", "application/json", "application/linkset+json"
CHECKED = "Signature and completeness checked by this server at"
CACHED = re.compile(r"public, max-age=([1-5]?[0-9]|60), must-revalidate")
FORMATS = ("text/html", VIEW, JSON, LINKS)


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with public_battery(server) as made:
        yield made


@pytest.fixture(scope="module")
def looked_at(original: Signed) -> Iterator[Serving]:
    """For all tests that change nothing."""
    with clone(original) as copy, at_the_door(copy) as running:
        yield running


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


@contextmanager
def at_the_door(signed: Signed, **settings: object) -> Iterator[Serving]:
    logins = {"BPC_PUBLIC_DATABASE_URL": signed.db.url_as("bpc_public")}
    with serving(signed.db.url_as("bpc_web"), "public", "dpp", **(logins | settings)) as running:
        yield running


def ask(
    running: Serving, path: str = PATH, accept: str = "text/html", host: str = HOST, **more: str
) -> Answer:
    return running.ask("public", path, headers={"Host": host, "Accept": accept} | more)


def view_of(running: Serving) -> str:
    return ask(running, accept=VIEW).text


def jwk_of(running: Serving, key_id: str) -> dict[str, Any]:
    keys: Any = ask(running, "/.well-known/jwks.json", "*/*").json["keys"]
    [found] = [each for each in keys if each["kid"] == key_id]
    return dict(found)


def with_words(running: Serving, words: str) -> str:
    """The page, as soon as it says that."""
    pages: list[str] = []

    def says() -> bool:
        pages.append(ask(running).text)
        return words in pages[-1]

    until(says, within=10, what=words)
    return pages[-1]


def test_a_phone_scans_the_code_and_whoever_likes_verifies_what_it_shows(looked_at: Serving) -> None:
    printed = png(code_of(IDENTIFIER, Printing()))
    [code] = zxingcpp.read_barcodes(Image.open(io.BytesIO(printed)))
    opened = urlsplit(code.text)

    page = ask(looked_at, opened.path, host=opened.netloc)
    text = ask(looked_at, opened.path, VIEW, opened.netloc).text
    fields = check_view(
        text,
        jwk=jwk_of(looked_at, "volt-1"),
        issuer=f"https://{HOST}",
        identifier=code.text,
        audience="public",
    )

    assert page.status == 200
    assert fields["manufacturer.name"] == "Helios Speicherwerke GmbH"
    assert fields["manufacturer.name"] in page.text
    assert CHECKED in page.text
    assert 'class="badge good"' in page.text
    assert "In force as of" in page.text


def test_each_format_by_accept_with_its_own_tag(looked_at: Serving) -> None:
    found = {accept: ask(looked_at, accept=accept) for accept in FORMATS}

    for accept, answer in found.items():
        assert answer.status == 200
        assert answer.headers["content-type"].partition(";")[0] == accept
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert answer.headers["vary"] == "Accept, Accept-Language"
        assert CACHED.fullmatch(answer.headers["cache-control"])
        assert "set-cookie" not in answer.headers
        again = ask(looked_at, accept=accept, **{"If-None-Match": answer.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
    assert len({answer.headers["etag"] for answer in found.values()}) == len(FORMATS)
    assert all(not answer.headers["etag"].startswith("W/") for answer in found.values())


def test_the_page_is_in_the_language_of_whoever_asks(looked_at: Serving) -> None:
    german = ask(looked_at, **{"Accept-Language": "de-AT, en;q=0.5"}).text
    switched = ask(looked_at, f"{PATH}?lang=de").text

    for page in (german, switched):
        assert '<html lang="de">' in page
        assert "Nennkapazität" in page
        assert "400,0" in page
    assert "Rated capacity" in ask(looked_at).text


def test_documents_are_those_that_everybody_may_see(looked_at: Serving, original: Signed) -> None:
    page = ask(looked_at).text
    hashes = re.findall(r"/attachments/([0-9a-f]{64})", page)

    contents = {ask(looked_at, f"/attachments/{each}").body for each in hashes}

    assert contents == {PDF, TEXT}
    kept = original.db.run("SELECT encode(sha256, 'hex') AS name FROM blobs WHERE content = %s", [SECRET])
    assert ask(looked_at, f"/attachments/{kept[0]['name']}").status == 404


def test_the_json_is_what_the_view_says(looked_at: Serving) -> None:
    document = ask(looked_at, accept=JSON).json

    assert document["uniqueProductIdentifier"] == IDENTIFIER
    assert document["dppStatus"] == "active"
    assert document["performance"]["rated_capacity"] == {"unit": "Ah", "value": "213"}  # type: ignore[index]


def test_links_after_rfc_9264(looked_at: Serving) -> None:
    """One context with an anchor; lists of targets with an href; one default, and the passport."""
    document: Any = ask(looked_at, accept=LINKS).json
    by_type: Any = ask(looked_at, f"{PATH}?linkType=linkset").json
    [context] = document["linkset"]

    assert set(document) == {"linkset"}
    assert by_type == document
    assert context["anchor"] == IDENTIFIER
    for name, targets in context.items():
        if name != "anchor":
            assert name.startswith("https://gs1.org/voc/")
            assert targets
            assert all(isinstance(each["href"], str) and isinstance(each["title"], str) for each in targets)
            assert all(isinstance(each.get("hreflang", []), list) for each in targets)
    assert len(context["https://gs1.org/voc/defaultLink"]) == 1
    assert {each["type"] for each in context["https://gs1.org/voc/dpp"]} == {"text/html", VIEW, JSON}
    assert f'<{IDENTIFIER}?linkType=linkset>; rel="linkset"' in ask(looked_at).headers["link"]


def test_a_link_type_is_honoured_and_an_unknown_one_is_not_found(looked_at: Serving) -> None:
    assert ask(looked_at, f"{PATH}?linkType=gs1:dpp").status == 200
    assert ask(looked_at, f"{PATH}?linkType=gs1:certificationInfo").body == PDF
    assert ask(looked_at, f"{PATH}?linkType=gs1:recipeInfo").status == 404


def test_keys_after_rfc_7517_and_8037(looked_at: Serving) -> None:
    document: Any = ask(looked_at, "/.well-known/jwks.json", "*/*").json
    issuer: Any = ask(looked_at, "/.well-known/jwt-vc-issuer", "*/*").json

    assert {each["kid"] for each in document["keys"]} == {"volt-1", "status-1"}
    for key in document["keys"]:
        assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("OKP", "Ed25519", "sig", "EdDSA")
        assert len(urlsafe_b64decode(key["x"] + "=")) == 32
    assert issuer == {"issuer": f"https://{HOST}", "jwks": document}


def test_the_status_list_that_a_view_names_is_here(looked_at: Serving) -> None:
    payload = json.loads(urlsafe_b64decode(view_of(looked_at).split(".")[1] + "=="))
    place = payload["status"]["status_list"]
    answer = ask(looked_at, urlsplit(place["uri"]).path, "*/*")
    listed = verify_status_list(answer.text, status_lists.REGISTRY)
    claims = json.loads(urlsafe_b64decode(answer.text.split(".")[1] + "=="))

    assert answer.headers["content-type"] == "application/statuslist+jwt"
    assert (listed.uri, listed.status(place["idx"])) == (place["uri"], Status.ACTIVE)
    assert set(claims) == {"exp", "iat", "status_list", "sub", "ttl"}
    assert len(zlib.decompress(urlsafe_b64decode(claims["status_list"]["lst"] + "=="))) == 2**17 // 4


def test_the_resolver_describes_itself(looked_at: Serving) -> None:
    found = ask(looked_at, "/.well-known/gs1resolver", "*/*").json

    assert found["resolverRoot"] == f"https://{HOST}"
    assert found["supportedPrimaryKeys"] == ["01"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/01/09520123456789/21/X", 400),  # its check digit
        ("/01/02000000000015/21/X", 400),  # for use inside one company
        ("/01/0952012345678X", 400),
        (f"/01/{GTIN}/21/X/10/Y", 400),  # out of order
        (f"/01/{GTIN}/21", 400),
        (f"/01/{GTIN}/99/X", 400),
        (f"/01/{GTIN}/21/{'X' * 21}", 400),
        (f"{PATH}?version=nonsense", 400),
        (f"{PATH}?format=pdf", 400),
        (f"{PATH}?version=00000000-0000-7000-8000-000000000000", 404),
        ("/p/0123", 400),
        ("/p/0123456789ABCDEF", 404),
        ("/status/99", 404),
        ("/attachments/xx", 404),
        ("/../etc/passwd", 404),
        (f"{PATH}/", 200),
        (f"/01/{GTIN}/10/LOT/21/7QK2M9X4TB", 200),
        (f"{PATH}?17=270218&utm=x", 200),
        (f"/01/{GTIN}", 200),
        (f"/01/{GTIN}/10/LOT", 200),
    ],
)
def test_addresses(looked_at: Serving, path: str, status: int) -> None:
    assert ask(looked_at, path).status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_is_changed_here(looked_at: Serving, method: str) -> None:
    answer = looked_at.ask("public", PATH, method=method, headers={"Host": HOST})

    assert answer.status == 405
    assert looked_at.ask("public", PATH, method="OPTIONS", headers={"Host": HOST}).status == 204
    assert looked_at.ask("public", PATH, method="HEAD", headers={"Host": HOST}).body == b""


def test_a_serial_that_nobody_has_leads_to_its_model(looked_at: Serving) -> None:
    nobody = f"/01/{GTIN}/21/NOBODY"
    page, links = ask(looked_at, nobody), ask(looked_at, nobody, LINKS)

    assert page.status == links.status == 200
    assert "No passport with this serial is published here" in page.text
    assert "Helios EV 78 traction battery" in page.text
    assert links.json["linkset"][0]["anchor"] == f"https://{HOST}/01/{GTIN}"  # type: ignore[index]
    assert [ask(looked_at, nobody, each).status for each in (VIEW, JSON)] == [404, 404]


def test_an_unknown_host_has_nothing(looked_at: Serving) -> None:
    assert ask(looked_at).status == 200
    for path in (PATH, "/", "/.well-known/jwks.json", "/.well-known/gs1resolver"):
        assert ask(looked_at, path, host="id.other.example").status == 404
    assert ask(looked_at, host=f"{HOST}:443").status == 200


def test_what_is_not_in_force_yet_looks_like_what_is_not_there(signed: Signed) -> None:
    signed.db.run("UPDATE public_passports SET activated_at = NULL, superseded_at = NULL, status = 'SIGNED'")
    with at_the_door(signed) as running:
        there, nobody = (ask(running, path) for path in (PATH, f"/01/{GTIN}/21/NOBODY"))

        assert there.body == nobody.body
        assert [ask(running, accept=each).status for each in (VIEW, JSON)] == [404, 404]


def test_a_former_version_says_so_and_leads_to_the_present_one(signed: Signed) -> None:
    former = signed.db.one("SELECT * FROM passport_versions WHERE status = 'SUPERSEDED'")
    with at_the_door(signed) as running:
        page = ask(running, f"{PATH}?version={former['passport_version_id']}").text
        scanned = ask(running, f"/?code={quote(str(former['qr_payload']))}")
        by_code = ask(running, scanned.headers["location"]).text
        wrong = ask(running, scanned.headers["location"].replace("rh%3D", "rh%3DAAAA", 1))
        as_json = ask(running, f"{PATH}?version={former['passport_version_id']}", JSON).json

    assert "This version was superseded on" in page
    assert f'<a href="{PATH}">' in page
    assert scanned.status == 303
    assert "This version was superseded on" in by_code
    assert wrong.status == 400
    assert as_json["dppStatus"] == "archived"


def test_what_was_revoked_is_gone_from_every_format_at_once(signed: Signed) -> None:
    with at_the_door(signed) as running:
        before = {accept: ask(running, accept=accept) for accept in FORMATS}
        signed.path.call(lambda pipeline: revoke(pipeline, str(signed.version), "a mistake"))
        page = with_words(running, "was revoked on")
        after = {accept: ask(running, accept=accept) for accept in FORMATS}
        tags = {"If-None-Match": before["text/html"].headers["etag"]}
        known = ask(running, PATH, "text/html", **tags)

    assert "213" not in page
    assert [after[each].status for each in FORMATS] == [200, 404, 404, 200]
    assert known.status == 200
    assert "https://gs1.org/voc/dpp" not in after[LINKS].text


def test_a_battery_that_was_recycled_is_gone(signed: Signed) -> None:
    passport = str(signed.db.one("SELECT passport_id FROM passports")["passport_id"])
    signed.path.call(lambda pipeline: end_life(pipeline, passport, "recycled"))
    with at_the_door(signed) as running:
        assert [ask(running, accept=each).status for each in FORMATS] == [410] * 4
        assert "recycled" in ask(running).text


def test_a_byte_that_was_changed_turns_the_badge_red(signed: Signed) -> None:
    with at_the_door(signed) as running:
        assert 'class="badge good"' in ask(running).text
        signed.db.run(
            "UPDATE public_passports SET view = overlay(view PLACING 'A' FROM 2000 FOR 1)"
            " WHERE status = 'ACTIVE'"
        )
        page = with_words(running, 'class="badge bad"')

        assert "do not rely on this page" in page
        assert "213" not in page
        assert [ask(running, accept=each).status for each in (VIEW, JSON)] == [500, 500]


def test_a_key_that_was_revoked_turns_the_badge_red_and_leaves_the_set(signed: Signed) -> None:
    with at_the_door(signed) as running:
        assert 'class="badge good"' in ask(running).text
        signed.db.run("UPDATE signing_keys SET status = 'REVOKED' WHERE key_id = 'volt-1'")
        with_words(running, 'class="badge bad"')

        keys: Any = ask(running, "/.well-known/jwks.json", "*/*").json["keys"]
        assert [each["kid"] for each in keys] == ["status-1"]


def test_serials_are_not_to_be_guessed_for_long(signed: Signed) -> None:
    with at_the_door(signed, BPC_PUBLIC_MISSES_BURST=3, BPC_PUBLIC_MISSES_PER_SECOND=0.01) as running:
        found = [ask(running, f"/01/{GTIN}/21/GUESS{number}").status for number in range(5)]

        assert found == [200, 200, 200, 429, 429]
        assert ask(running).status == 200
