"""How the demo ends: with the page of the passport that it made, served on this machine until ^C."""

import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

from bpc_worker.core.base.identifier import host_of
from bpc_worker.demo.proving import connected, environment
from bpc_worker.demo.screen import draw_code
from bpc_worker.demo.stage import Stage

_PORT = 8081  # where `serve` has the public door, unless somebody is there
_LOOPBACK = "127.0.0.1"
_STOP_SECONDS = 40


def show_page(stage: Stage, versions: Sequence[UUID | None]) -> None:
    """On a terminal it is served; elsewhere it is said how."""
    with connected(stage.url) as connection:
        rows = connection.execute(
            "SELECT unique_identifier FROM passport_versions WHERE passport_version_id = ANY (%s)",
            [list(versions)],
        ).fetchall()
    identifiers = [str(row["unique_identifier"]) for row in rows]
    host = host_of(identifiers[0])
    if not stage.console.is_terminal:
        stage.console.print(
            "\nThe page behind its code (a terminal would show it now):\n"
            f"  BPC_DATABASE_URL={stage.url} BPC_PUBLIC_LOOPBACK_HOST={host} \\\n"
            "    bpc-worker serve --doors public\n"
            + "\n".join(f"  {_page(each, _PORT)}" for each in identifiers),
            highlight=False,
            markup=False,
        )
        return
    port = _free(_PORT)
    settings = {"BPC_PUBLIC_LOOPBACK_HOST": host, "BPC_PUBLIC_PORT": str(port)}
    serving = subprocess.Popen(
        [sys.executable, "-m", "bpc_worker", "serve", "--doors", "public"],
        env=environment(stage.url) | settings,
        start_new_session=True,  # ^C is ours, and we tell it
    )
    try:
        draw_code(stage.console, identifiers[0])
        listed = "\n".join(f"  {_page(each, port)}" for each in identifiers)
        stage.console.print(f"[bold]The page behind its code[/], until ^C:\n{listed}", highlight=False)
        serving.wait()
    except KeyboardInterrupt:
        stage.console.print("")
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait(timeout=_STOP_SECONDS)


def _page(identifier: str, port: int) -> str:
    return f"http://{_LOOPBACK}:{port}{urlsplit(identifier).path}"


def _free(wanted: int) -> int:
    """That one, or any."""
    for port in (wanted, 0):
        try:
            with socket.create_server((_LOOPBACK, port)) as listener:
                return int(listener.getsockname()[1])
        except OSError:
            continue
    return wanted
