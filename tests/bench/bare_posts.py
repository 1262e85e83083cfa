"""The bare client: aiohttp posts the same bodies to the same receiver, and knows of no queue and no guard."""

import asyncio
import ssl
import time

import aiohttp

from tests.bench.peers.wire import asked, say


async def post(url: str, ca_file: str, bodies: str, concurrency: int, keep_alive: bool) -> None:  # noqa: FBT001
    trust = ssl.create_default_context(cafile=ca_file)
    with open(bodies, "rb") as file:  # noqa: PTH123 - before anything is timed
        left = [bytes.fromhex(line.decode().strip()) for line in file]
    count = len(left)
    connector = aiohttp.TCPConnector(ssl=trust, force_close=not keep_alive)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def loop() -> None:
            while left:
                headers = {"Content-Type": "application/json"}
                async with session.post(url, data=left.pop(), headers=headers) as response:
                    assert response.status == 200
                    await response.read()

        began, used = time.perf_counter(), time.process_time()
        await asyncio.gather(*(loop() for _ in range(concurrency)))
        say(seconds=time.perf_counter() - began, cpu=time.process_time() - used, count=count)


if __name__ == "__main__":
    wanted = asked()
    del wanted["do"]
    asyncio.run(post(**wanted))
