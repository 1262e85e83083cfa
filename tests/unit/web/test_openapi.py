"""The API's description: every route is in it, and every reference leads somewhere."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from bpc_worker.config import load as config
from bpc_worker.web.api.context import Api
from bpc_worker.web.api.described import ApiRoute
from bpc_worker.web.api.door import api_routes
from bpc_worker.web.api.openapi import document

# The contract's, each of which must be there.
WANTED = """
POST /v1/documents
GET /v1/documents
GET /v1/documents/{id}
GET /v1/documents/{id}/facts
GET /v1/documents/{id}/content
POST /v1/products
GET /v1/products
GET /v1/products/{id}
POST /v1/products/{id}/serials
GET /v1/products/{id}/serials
POST /v1/carriers
POST /v1/builds
GET /v1/builds
POST /v1/builds:bulk
GET /v1/builds/{id}
GET /v1/passports
GET /v1/passports/{id}
GET /v1/passports/{id}/gaps
GET /v1/passports/{id}/measurements
POST /v1/passports/{id}/measurements
GET /v1/passports/{id}/versions/{v}
GET /v1/passports/{id}/versions/{v}/bundle
GET /v1/passports/{id}/versions/{v}/view
GET /v1/passports/{id}/versions/{v}/dpp
GET /v1/passports/{id}/versions/{v}/explain
GET /v1/passports/{id}/versions/{v}/qr.svg
GET /v1/passports/{id}/versions/{v}/label.pdf
POST /v1/passports/{id}/versions/{v}:activate
POST /v1/passports/{id}/versions/{v}:revoke
GET /v1/webhooks
POST /v1/webhooks
GET /v1/webhooks/{id}
POST /v1/webhooks/{id}:test
POST /v1/webhooks/{id}:rotate
POST /v1/webhooks/{id}:disable
POST /v1/webhooks/{id}:enable
GET /v1/deliveries
GET /v1/deliveries/{id}
POST /v1/deliveries/{id}:replay
GET /v1/events
GET /v1/jobs/{id}
GET /v1/scale
GET /v1/whoami
"""


@pytest.fixture(scope="module")
def routes() -> list[ApiRoute]:
    api = Api(settings=config.load(env={}), database=None, watch=None)  # type: ignore[arg-type]  # nobody asks
    return api_routes(api)


def references(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, each in value.items():
                yield from [each] if name == "$ref" else references(each)
        case list():
            for each in value:
                yield from references(each)
        case _:
            pass


def test_the_contracts_routes_are_there_and_no_others(routes: list[ApiRoute]) -> None:
    assert {f"{route.method} {route.path}" for route in routes} == set(WANTED.split("\n")) - {""}


def test_every_route_says_what_it_does_takes_and_answers(routes: list[ApiRoute]) -> None:
    described = document(routes)
    for route in routes:
        operation = described["paths"][route.path][route.method.lower()]
        assert operation["summary"].endswith(".")
        assert operation["tags"] != [""]
        assert route.lock.scope
        assert route.lock.changes is (route.method != "GET")
        named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", route.path))
        content = operation["responses"][str(route.statuses[0])]["content"]
        assert content
        assert ("requestBody" in operation) is (route.body is not None)
        names = [each["name"] for each in operation["parameters"]]
        assert ("Idempotency-Key" in names) is (route.method == "POST")
        assert ("Prefer" in names) is route.waits


def test_every_reference_leads_somewhere_and_every_schema_is_referred_to(routes: list[ApiRoute]) -> None:
    described = document(routes)
    found = {each.rpartition("/")[2] for each in references(described)}
    assert found == set(described["components"]["schemas"])


def test_names_of_operations_and_types_stand_once(routes: list[ApiRoute]) -> None:
    described = document(routes)
    names = [each["operationId"] for path in described["paths"].values() for each in path.values()]
    assert len(names) == len(set(names))
    assert not [name for name in described["components"]["schemas"] if "." in name or "_" in name]


def test_what_comes_in_refuses_unknown_members(routes: list[ApiRoute]) -> None:
    kinds = [kind for route in routes for kind in (route.body, route.query, *route.takes.values())]
    asked = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    assert asked
    for kind in asked:
        if kind.__name__ not in {"UploadForm", "BuildFiles"}:  # parts, which their reader knows
            assert kind.__struct_config__.forbid_unknown_fields, kind


def test_it_is_the_same_every_time(routes: list[ApiRoute]) -> None:
    assert json.dumps(document(routes)) == json.dumps(document(routes))
