"""How many public pages a second of CPU answers from a warm cache, beside a handler that does nothing."""

import asyncio
import time
from typing import Final

from bpc_worker.pipeline.passports import activate
from tests.bench.bench import Bench, module, program
from tests.bench.procs import exact_seconds
from tests.bench.results import Found, Goal, Rounds
from tests.support.pipeline import pipeline
from tests.support.serving import serving
from tests.support.worker import worker

REQUESTS, QUICK_REQUESTS, CONNECTIONS = 20_000, 4_000, 8
OURS, BARE, UNIT = "public page", "bare aiohttp", "requests/s of CPU"
SHARE: Final = 0.5
COUNTED: Final = (
    "One page of a passport in force, warm, over kept connections of one client: requests over seconds of"
    " CPU of the server, since client and server share the cores. The bare handler of aiohttp answers the"
    " same bytes and headers and looks at nothing. Wall: the same over seconds of the clock."
)
SETTINGS: Final = {
    "BPC_HTTP_REQUESTS_PER_SECOND": 1_000_000, "BPC_HTTP_REQUESTS_BURST": 1_000_000,
    "BPC_LOG_LEVEL": "info",
}  # fmt: skip


def measure(bench: Bench) -> Found:
    rounds, requests = Rounds(), bench.much(REQUESTS, QUICK_REQUESTS)
    with bench.database() as db:
        path = pipeline(db)
        with worker(db.url_as("bpc_worker")):
            version = path.ended(path.build()).passport_version_id
        path.call(lambda pipeline: activate(pipeline, str(version)))
        identifier = str(db.one("SELECT unique_identifier FROM passports")["unique_identifier"])
        _, _, host, place = identifier.split("/", 3)
        with serving(db.url_as("bpc_web"), "public", **SETTINGS,
                     BPC_PUBLIC_DATABASE_URL=db.url_as("bpc_public")) as ours:  # fmt: skip
            asked = f"/{place}", host
            page = ours.ask("public", asked[0], headers={"Host": host, "Accept": "text/html"})
            assert page.status == 200, page.text
            settings = f"{len(page.body)} bytes, {requests} requests"
            headers = {name: value for name, value in page.headers.items()
                       if name not in {"date", "content-length", "server"}}  # fmt: skip
            with program(module("bare_page"), do="serve", body=page.text, headers=headers) as bare:
                ports = {OURS: (ours.door_port("public"), ours.pid), BARE: (bare.hear()["port"], bare.pid)}
                for _ in range(bench.rounds):
                    for name, (port, pid) in ports.items():
                        _load(port, *asked, requests // 10)  # warm
                        cpu, began = exact_seconds(pid), time.monotonic()
                        _load(port, *asked, requests)
                        seconds, used = time.monotonic() - began, exact_seconds(pid) - cpu
                        rounds.add(name, UNIT, requests / used, settings)
                        rounds.add(f"{name}, wall", "requests/s", requests / seconds)
    share = rounds[OURS, UNIT].over(rounds[BARE, UNIT])
    goals = [Goal(name="of a bare handler", value=share, at_least=SHARE)]
    return Found(title="Public page", counted=COUNTED, figures=rounds.figures(), goals=goals)


def _load(port: int, path: str, host: str, requests: int) -> None:
    asyncio.run(_all(port, path, host, requests))


async def _all(port: int, path: str, host: str, requests: int) -> None:
    text = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nAccept-Language: en\r\n\r\n".encode()
    await asyncio.gather(*(_one(port, text, requests // CONNECTIONS) for _ in range(CONNECTIONS)))


async def _one(port: int, text: bytes, requests: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(requests):
        writer.write(text)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(size)
    writer.close()
