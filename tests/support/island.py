"""A network of its own: every address is on its loopback device, somebody listens on all of them, and counts.

What may not be called is really there, so a guard that fails is seen. Names come from a name server of its
own, through the system's resolver. Needs root and Linux; programs are started inside with `inside`.

`python -m tests.support.island PLAN` is the part inside: it tells what came for every line of its input.
"""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tests.support.database import Database
from tests.support.dns import NameServer
from tests.support.worker import Worker

_TOOLS = ("unshare", "nsenter", "ip", "mount")
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_MOVED = b"HTTP/1.1 307 Moved\r\nLocation: https://10.0.0.1/moved\r\nContent-Length: 0\r\n\r\n"


def can_be_made() -> bool:
    """Whether this system lets us have a network of our own."""
    if os.geteuid() != 0 or not all(map(shutil.which, _TOOLS)):
        return False
    probe = ["unshare", "--net", "--mount", "ip", "link", "set", "lo", "up"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class Island:
    process: "subprocess.Popen[str]"

    @property
    def inside(self) -> list[str]:
        """What to put before a command so that it runs there."""
        return ["nsenter", "--target", str(self.process.pid), "--net", "--mount", "--"]

    @property
    def accepted(self) -> Counter[str]:
        """How many connections came, by `address port` where they came to."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("tell\n")
        self.process.stdin.flush()
        return Counter(json.loads(self.process.stdout.readline()))


@contextmanager
def worker_inside(place: Island, db: Database, **settings: object) -> Iterator[Worker]:
    """Its database is reached through a socket in the file system, which the island shares with the world."""

    class Inside(Worker):
        before = place.inside

    running = Inside(replace(db.server, listen="").url(db.url.rpartition("/")[2]), **settings)
    try:
        yield running
    finally:
        running.end()


@contextmanager
def island(
    *,
    chain: Path,
    addresses: Sequence[str],
    names: Mapping[str, Sequence[Sequence[str]]],
    ports: Sequence[int],
) -> Iterator[Island]:
    """`names`: the answers that a name gives, one after the other; none at all: it is never answered.

    The first of the ports speaks TLS, with the certificate of `chain`.
    """
    folder = Path(tempfile.mkdtemp(prefix="bpc-island-"))
    plan = folder / "plan.json"
    plan.write_text(
        json.dumps({"chain": str(chain), "addresses": [*addresses], "names": {**names}, "ports": [*ports]})
    )
    process = subprocess.Popen(
        ["unshare", "--net", "--mount", "--", sys.executable, "-m", "tests.support.island", str(plan)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield Island(process)
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=10)
        finally:
            process.kill()
            process.stdout.close()
            shutil.rmtree(folder)


def _settle_in(plan: Path, addresses: Sequence[str]) -> None:
    def run(*command: str) -> None:
        subprocess.run(command, check=True)

    run("mount", "--make-rprivate", "/")
    resolv = plan.with_name("resolv.conf")
    resolv.write_text("nameserver 127.0.0.1\n")
    run("mount", "--bind", str(resolv), "/etc/resolv.conf")
    run("ip", "link", "set", "lo", "up")
    for address in addresses:
        if ip_address(address).is_loopback:
            continue
        bits = ["/128", "nodad"] if ":" in address else ["/32"]
        run("ip", "address", "add", address + bits[0], "dev", "lo", *bits[1:])


class _Shore:
    """Counts whoever comes, answers those who speak."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        self.accepted: Counter[str] = Counter()

    async def sealed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count(writer)
        with suppress(OSError):
            await writer.start_tls(self.context)
            await self._answer(reader, writer)

    async def plain(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count(writer)
        with suppress(OSError):
            await self._answer(reader, writer)

    def _count(self, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("sockname")[:2]
        self.accepted[f"{host} {port}"] += 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_MOVED if b" /moved " in head.splitlines()[0] else _OK)
            await writer.drain()
        writer.close()


async def _live(plan: dict[str, Any]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plan["chain"])
    shore = _Shore(context)
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: NameServer(plan["names"]), ("127.0.0.1", 53))
    for number, port in enumerate(plan["ports"]):
        serve = shore.plain if number else shore.sealed
        await asyncio.start_server(serve, "0.0.0.0", port)  # noqa: S104 - of the island alone
        await asyncio.start_server(serve, "::", port)
    print("ready", flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(shore.accepted), flush=True)


if __name__ == "__main__":
    told = Path(sys.argv[1])
    what = json.loads(told.read_text())
    _settle_in(told, what["addresses"])
    asyncio.run(_live(what))
