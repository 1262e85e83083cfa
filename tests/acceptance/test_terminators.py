"""The public door behind real servers, with the files of `deploy/`: TLS, HTTP/2, a cache."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bpc_worker.pipeline.passports import revoke
from bpc_worker.postgres.embedded.server import Server
from tests.support.public_battery import HOST, IDENTIFIER, public_battery
from tests.support.rabbitmq import or_skip
from tests.support.serving import serving
from tests.support.signed import Signed, clone
from tests.support.terminators import Terminator, caddy, nginx, program
from tests.support.worker import until

pytestmark = pytest.mark.acceptance

PATH = urlsplit(IDENTIFIER).path
FORMATS = ("text/html", "application/dc+sd-jwt", "application/json", "application/linkset+json")
KEPT = {"BPC_PUBLIC_KEPT_SECONDS": 4, "BPC_HTTP_TRUSTED_PROXIES": "127.0.0.0/8"}


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with public_battery(server) as made:
        yield made


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


def gone(front: Terminator, accept: str) -> bool:
    return front.ask(PATH, accept).status == 404


def test_what_was_revoked_while_nginx_had_it_is_gone_from_every_format(
    signed: Signed, tmp_path: Path
) -> None:
    or_skip(lambda: program("nginx"))
    tmp_path.chmod(0o755)
    logins = {"BPC_PUBLIC_DATABASE_URL": signed.db.url_as("bpc_public")}
    with (
        serving(signed.db.url_as("bpc_web"), "public", **(logins | KEPT)) as running,
        nginx(tmp_path, HOST, running.door_port("public")) as front,
    ):
        before = {each: front.ask(PATH, each) for each in FORMATS}
        cached = until(
            lambda: {front.ask(PATH, each).headers["x-cache"] for each in FORMATS} == {"HIT"},
            within=20,
            what="all formats in nginx's cache",
        )
        signed.path.call(lambda pipeline: revoke(pipeline, str(signed.version), "a mistake"))
        for each in FORMATS[1:3]:
            until(partial(gone, front, each), within=60, what=f"no {each}")
        until(lambda: "was revoked on" in front.ask(PATH).text, within=60, what="the page that says so")
        until(lambda: "voc/dpp" not in front.ask(PATH, FORMATS[3]).text, within=60, what="no links")
        known = front.ask(PATH, **{"If-None-Match": before["text/html"].headers["etag"]})

    assert cached
    assert {each.status for each in before.values()} == {200}
    assert known.status == 200
    assert known.headers["etag"] != before["text/html"].headers["etag"]


def test_nginx_speaks_http_2_and_keeps_what_the_door_says(signed: Signed, tmp_path: Path) -> None:
    or_skip(lambda: program("nginx"))
    tmp_path.chmod(0o755)
    logins = {"BPC_PUBLIC_DATABASE_URL": signed.db.url_as("bpc_public")}
    with (
        serving(signed.db.url_as("bpc_web"), "public", **(logins | KEPT)) as running,
        nginx(tmp_path, HOST, running.door_port("public")) as front,
    ):
        page = front.ask(PATH)
        german = front.ask(PATH, **{"Accept-Language": "de"})

        assert front.speaks() == "h2"
        assert page.headers["strict-transport-security"]
        assert (page.headers["access-control-allow-origin"], page.headers["etag"][0]) == ("*", '"')
        assert '<html lang="de">' in german.text
        assert front.ask("/01/09520123456788/21/A%2FB").status == 200  # the model: the slash stays inside


def test_caddy_speaks_http_2(signed: Signed, tmp_path: Path) -> None:
    or_skip(lambda: program("caddy"))
    logins = {"BPC_PUBLIC_DATABASE_URL": signed.db.url_as("bpc_public")}
    with (
        serving(signed.db.url_as("bpc_web"), "public", **(logins | KEPT)) as running,
        caddy(tmp_path, HOST, running.door_port("public")) as front,
    ):
        page = front.ask(PATH)

        assert front.speaks() == "h2"
        assert page.status == 200
        assert "Helios EV 78 traction battery" in page.text
        assert page.headers["strict-transport-security"]
