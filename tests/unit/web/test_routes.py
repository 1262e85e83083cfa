"""Paths are matched as they came: nothing that is encoded, empty or dotted leads anywhere else."""

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.web.layer.answers import Answer, Empty
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Found, Route, RouteTable


async def answer(_: Request) -> Answer:
    return Empty()


def table(*lines: str) -> RouteTable:
    asked = [line.split() for line in lines]
    return RouteTable([Route(method, path, answer, OPEN) for method, path in asked])


TABLE = table(
    "GET /",
    "GET /v1/passports",
    "GET /v1/passports/{id}",
    "GET /v1/passports/{id}/versions/{v}",
    "POST /v1/passports/{id}/versions/{v}:activate",
    "POST /v1/passports/{id}/versions/{v}:revoke",
    "GET /v1/passports/{id}/gaps",
    "GET /v1/passports/newest",
    "POST /v1/builds:bulk",
)


@pytest.mark.parametrize(
    ("method", "path", "template", "args"),
    [
        ("GET", "/", "/", {}),
        ("HEAD", "/v1/passports", "/v1/passports", {}),
        ("GET", "/v1/passports/abc", "/v1/passports/{id}", {"id": "abc"}),
        ("GET", "/v1/passports/newest", "/v1/passports/newest", {}),
        ("GET", "/v1/passports/a%2Fb", "/v1/passports/{id}", {"id": "a/b"}),
        ("GET", "/v1/passports/a%252Fb", "/v1/passports/{id}", {"id": "a%2Fb"}),
        ("GET", "/v1/passports/%C3%A4", "/v1/passports/{id}", {"id": "ä"}),
        ("GET", "/v1/passports/a+b", "/v1/passports/{id}", {"id": "a+b"}),
        ("GET", "/v1/passports/x/versions/3", "/v1/passports/{id}/versions/{v}", {"id": "x", "v": "3"}),
        (
            "POST", "/v1/passports/x/versions/3:activate", "/v1/passports/{id}/versions/{v}:activate",
            {"id": "x", "v": "3"},
        ),
        ("POST", "/v1/builds:bulk", "/v1/builds:bulk", {}),
    ],
)  # fmt: skip
def test_a_route_is_found_with_its_arguments(
    method: str, path: str, template: str, args: dict[str, str]
) -> None:
    found = TABLE.find(method, path)

    assert isinstance(found, Found)
    assert (found.route.path, dict(found.path_args)) == (template, args)


@pytest.mark.parametrize(
    "path",
    [
        "//", "/v1//passports", "/v1/passports/", "/v1/passports//gaps", "/V1/passports", "/v1/Passports",
        "/v2", "/v1/passports/x/versions/:activate/", "/v1/./passports/x/y",
        "/v1/passports/x/versions/3/more",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_there(path: str) -> None:
    assert TABLE.find("GET", path) == frozenset()


@pytest.mark.parametrize("segment", ["..", ".", "%2e%2e", "%2E.", "a%00b", "%zz", "%", "%ff"])
def test_what_is_no_name_is_refused(segment: str) -> None:
    with pytest.raises(Permanent):
        TABLE.find("GET", f"/v1/passports/{segment}")


def test_another_method_is_told_which_there_are() -> None:
    reads = frozenset({"GET", "HEAD", "OPTIONS"})
    assert TABLE.find("DELETE", "/v1/passports/x") == reads
    assert TABLE.find("GET", "/v1/builds:bulk") == frozenset({"POST", "OPTIONS"})
    assert TABLE.find("OPTIONS", "/v1/passports") == reads
    assert TABLE.find("GET", "/v1/passports/x/versions/3:activate") != frozenset()


def test_a_route_stands_once() -> None:
    with pytest.raises(ValueError, match="two routes"):
        table("GET /a", "GET /a")
