"""The routes of all doors: what is open is written down here, so that a new one is a decision."""

from collections.abc import Iterator

import pytest

from bpc_worker.config.load import load
from bpc_worker.web.doors import parts_of, places
from bpc_worker.web.layer.routes import Door, Route, RouteTable
from bpc_worker.web.public.door import Query
from bpc_worker.web.serve import DOORS

SAFE = {"GET"}
# On doors where people and programs show who they are, these ask it of nobody.
OPEN_ROUTES = {
    ("api", "GET", "/"),  # the interface described, which is no secret
    ("api", "GET", "/openapi.json"),
    ("api", "GET", "/static/{hash}/{name}"),
    ("dashboard", "GET", "/session"),
    ("dashboard", "POST", "/session"),
    ("dashboard", "POST", "/session/end"),
    ("dashboard", "GET", "/static/{hash}/{name}"),
    ("api", "GET", "/"),
    ("api", "GET", "/openapi.json"),
    ("api", "GET", "/static/{hash}/{name}"),
    # What the public may see without a token, and what is refused to everybody.
    ("dpp", "GET", "/v1/dpps/{dppId}"),
    ("dpp", "GET", "/v1/dppsByProductId/{productId}"),
    ("dpp", "GET", "/v1/dppsByIdAndDate/{dppId}"),
    ("dpp", "GET", "/v1/dpps/{dppId}/elements/{path}"),
    ("dpp", "POST", "/v1/dpps"),
    ("dpp", "PATCH", "/v1/dpps/{dppId}"),
    ("dpp", "DELETE", "/v1/dpps/{dppId}"),
    ("dpp", "PATCH", "/v1/dpps/{dppId}/elements/{path}"),
}
# Unsafe by their method, and they change nothing: what is asked for is too long for an address.
READ_BY_POST = {("dpp", "/v1/dppsByProductIds")}


def doors() -> Iterator[Door]:
    settings = load(env={})
    for each in places(settings, DOORS, parts_of(settings, {}, "postgresql://nobody@nowhere.invalid/none")):
        yield from each.doors


def routes() -> list[tuple[Door, Route]]:
    return [(door, route) for door in doors() for route in door.routes]


ALL = [pytest.param(door, route, id=f"{door.name} {route.method} {route.path}") for door, route in routes()]


def test_what_is_open_is_written_down() -> None:
    found = {
        (door.name, route.method, route.path)
        for door, route in routes()
        if route.lock.scope is None and door.name != "public"
    }

    assert found == OPEN_ROUTES


@pytest.mark.parametrize(("door", "route"), ALL)
def test_what_changes_something_is_never_safe_and_the_rest_always(door: Door, route: Route) -> None:
    assert (route.method in SAFE) is not route.lock.changes or (door.name, route.path) in READ_BY_POST


@pytest.mark.parametrize(("door", "route"), ALL)
def test_the_public_door_reads_and_knows_nobody(door: Door, route: Route) -> None:
    if door.name == "public":
        assert not door.identifies
        assert route.method == "GET"
        assert route.lock.scope is None
    else:
        assert door.identifies
        assert not door.cors


@pytest.mark.parametrize(("door", "route"), ALL)
def test_a_route_says_what_it_is_for(door: Door, route: Route) -> None:
    assert route.says.endswith("."), (door.name, route.path)


@pytest.mark.parametrize(("door", "route"), ALL)
def test_what_is_asked_is_read_strictly(door: Door, route: Route) -> None:
    """But for a battery's own address, to which GS1 allows attributes that we have no use for."""
    if route.query is Query:
        return
    for kind in (route.query, route.body):
        if kind is not None and kind is not bytes and hasattr(kind, "__struct_config__"):
            assert kind.__struct_config__.forbid_unknown_fields, (door.name, kind)


def test_the_doors_of_a_listener_do_not_answer_for_one_another() -> None:
    for each in (("public",), ("dpp", "api"), ("dashboard",)):
        RouteTable([route for door, route in routes() if door.name in each])  # ValueError otherwise
