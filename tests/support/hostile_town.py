"""All bad receivers, each on a port of its own, in a process of their own.

`python -m tests.support.hostile_town CHAIN_FILE` prints their ports, and stays until its input ends.
"""

import asyncio
import json
import logging
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

from tests.support.certificates import Authority
from tests.support.receivers import BEHIND_TLS, HANGING_IN_TLS, good, listening


@contextmanager
def hostile_town(authority: Authority, *names: str) -> Iterator[dict[str, int]]:
    """The ports by what listens there. The certificates are for `names`."""
    chains = {
        "good": authority.chain(*names),
        "expired": authority.chain(*names, expired=True),
        "self-signed": authority.chain(*names, self_signed=True),
        "wrong name": authority.chain("somebody-else.example"),
    }
    command = [sys.executable, "-m", "tests.support.hostile_town", *map(str, chains.values())]
    town = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert town.stdin is not None
    assert town.stdout is not None
    try:
        yield json.loads(town.stdout.readline())
    finally:
        town.stdin.close()
        try:
            town.wait(timeout=10)
        finally:
            town.kill()
            town.stdout.close()


async def _serve(chains: list[str]) -> None:
    trusted, *flawed = [_context(chain) for chain in chains]
    async with AsyncExitStack() as stack:
        places = {
            name: await stack.enter_async_context(listening(behave, tls=trusted))
            for name, behave in BEHIND_TLS.items()
        }
        for name, behave in HANGING_IN_TLS.items():
            places[name] = await stack.enter_async_context(listening(behave))
        for name, context in zip(("expired", "self-signed", "wrong name"), flawed, strict=True):
            places[name] = await stack.enter_async_context(listening(good, tls=context))
        print(json.dumps({name: place.port for name, place in places.items()}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def _context(chain: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context


if __name__ == "__main__":
    logging.disable()  # handshakes that fail are what it is for
    asyncio.run(_serve(sys.argv[1:]))
