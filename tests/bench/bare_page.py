"""The least that answering a page costs: a bare handler of aiohttp that has the bytes already."""

import asyncio
import json
import sys

from aiohttp import web


async def serve(body: bytes, headers: dict[str, str]) -> None:
    async def handle(_: web.BaseRequest) -> web.Response:
        return web.Response(body=body, headers=headers)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [address] = runner.addresses
    sys.stdout.write(f"{json.dumps({'port': address[1]})}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    asyncio.run(serve(asked["body"].encode(), asked["headers"]))
