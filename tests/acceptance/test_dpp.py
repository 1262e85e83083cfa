"""The standard read interface, after EN 18222: by id, battery and date, for the audience of the token."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from bpc_worker.postgres.embedded.server import Server
from tests.support.public_battery import HOST, IDENTIFIER, public_battery
from tests.support.serving import Answer, Serving, serving, token
from tests.support.signed import Signed

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def signed(server: Server) -> Iterator[Signed]:
    with public_battery(server) as made:
        yield made


@pytest.fixture(scope="module")
def door(signed: Signed) -> Iterator[Serving]:
    login = {"BPC_PUBLIC_DATABASE_URL": signed.db.url_as("bpc_public")}
    with serving(signed.db.url_as("bpc_web"), "dpp", "public", **login) as running:
        yield running


def dpp_id(signed: Signed) -> str:
    return f"urn:uuid:{signed.db.one('SELECT passport_id FROM passports')['passport_id']}"


def by_id(signed: Signed, more: str = "") -> str:
    return f"/v1/dpps/{quote(dpp_id(signed), safe='')}{more}"


def by_product(identifier: str = IDENTIFIER) -> str:
    return f"/v1/dppsByProductId/{quote(identifier, safe='')}"


def test_everybody_gets_what_the_public_page_says(door: Serving, signed: Signed) -> None:
    found, by_battery = door.ask("dpp", by_id(signed)), door.ask("dpp", by_product())
    page = door.ask("public", "/01/09520123456788/21/7QK2M9X4TB",
                    headers={"Host": HOST, "Accept": "application/json"})  # fmt: skip

    assert (found.status, found.body) == (200, page.body)
    assert by_battery.body == found.body
    assert found.json["digitalProductPassportId"] == dpp_id(signed)
    assert found.headers["cache-control"] == "private, no-cache"


def test_the_full_form_has_the_same_values_and_the_signed_view(door: Serving, signed: Signed) -> None:
    full: Any = door.ask("dpp", by_id(signed, "?representation=full")).json
    elements = {each["elementId"]: each["value"] for each in full["elements"]}
    one = door.ask("dpp", by_id(signed, "/elements/%24.performance.rated_capacity"))

    assert elements["performance.rated_capacity"] == {"unit": "Ah", "value": "213"}
    assert one.json == elements["performance.rated_capacity"]
    assert full["signedView"].endswith("~")
    assert door.ask("dpp", by_id(signed, "/elements/composition.components")).status == 404


def test_an_audience_sees_its_part_by_the_token_of_the_tenant(door: Serving, signed: Signed) -> None:
    tenant = signed.db.tenant(signed.path.tenant)
    secrets = {
        "values": token(signed.db, "values", tenant=tenant, audience="authorities"),
        "no scope": token(signed.db, "read", tenant=tenant, audience="authorities"),
        "all tenants": token(signed.db, "values", audience="authorities"),
        "another tenant": token(
            signed.db, "values", tenant=signed.db.tenant("other"), audience="authorities"
        ),
    }

    found = {why: door.ask("dpp", by_id(signed), token=secret) for why, secret in secrets.items()}

    assert {why: answer.status for why, answer in found.items()} == {
        "values": 200, "no scope": 403, "all tenants": 403, "another tenant": 404,
    }  # fmt: skip
    assert "components" in found["values"].json["composition"]  # type: ignore[operator]
    assert all("components" not in answer.text for why, answer in found.items() if why != "values")
    assert door.ask("dpp", by_id(signed), token="nonsense").status == 401


def test_the_version_of_a_moment(door: Serving, signed: Signed) -> None:
    former = signed.db.one("SELECT * FROM public_passports WHERE status = 'SUPERSEDED'")
    path = f"/v1/dppsByIdAndDate/{quote(dpp_id(signed), safe='')}?date="
    then = door.ask("dpp", path + quote(former["activated_at"].isoformat()))  # type: ignore[attr-defined]

    assert then.json["dppStatus"] == "archived"
    assert door.ask("dpp", f"{path}2020-01-01").status == 404
    assert door.ask("dpp", f"{path}tomorrow").status == 400


def test_lists_need_a_token(door: Serving, signed: Signed) -> None:
    tenant = signed.db.tenant(signed.path.tenant)
    asked = {"productIds": [IDENTIFIER, "https://id.volt.eu/p/0123456789ABCDEF"]}
    reads = token(signed.db, "read", tenant=tenant)
    others = token(signed.db, "read", tenant=signed.db.tenant("other"))

    def ids(answer: Answer) -> object:
        return answer.json["digitalProductPassportIds"]

    assert door.post("dpp", "/v1/dppsByProductIds", asked).status == 401
    assert ids(door.post("dpp", "/v1/dppsByProductIds", asked, token=reads)) == [dpp_id(signed)]
    assert ids(door.post("dpp", "/v1/dppsByProductIds", asked, token=others)) == []


@pytest.mark.parametrize(
    ("method", "more"), [("POST", None), ("PATCH", ""), ("DELETE", ""), ("PATCH", "/elements/x")]
)
def test_nothing_is_edited(door: Serving, signed: Signed, method: str, more: str | None) -> None:
    path = "/v1/dpps" if more is None else by_id(signed, more)

    answer = door.ask("dpp", path, method=method, body=b"{}", headers={"Content-Type": "application/json"})

    assert answer.status == 501
    assert answer.json["code"] == "ServerNotImplemented"
    assert "compiled from documents, never edited" in str(answer.json["detail"])


def test_what_there_is_not(door: Serving) -> None:
    nobody = quote("urn:uuid:00000000-0000-7000-8000-000000000000", safe="")
    assert door.ask("dpp", f"/v1/dpps/{nobody}").status == 404
    assert door.ask("dpp", "/v1/dpps/nonsense").status == 400
    assert door.ask("dpp", by_product("https://id.volt.eu/p/0123456789ABCDEF")).status == 404
    assert door.ask("dpp", by_product("nonsense")).status == 400
