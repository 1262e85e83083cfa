"""A receiver of webhooks in a process of its own: it reads what comes, says 200, and counts."""

import asyncio
import ssl
import sys

from aiohttp import web

from tests.bench.peers.wire import asked, say


async def serve(chain: str) -> None:
    count = 0

    async def receive(request: web.Request) -> web.Response:
        nonlocal count
        await request.read()
        count += 1
        return web.Response()

    app = web.Application(client_max_size=4 * 1024 * 1024)
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    say(port=runner.addresses[0][1])
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        say(count=count)


if __name__ == "__main__":
    wanted = asked()
    del wanted["do"]
    asyncio.run(serve(**wanted))
