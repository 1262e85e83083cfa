"""What the demo does with a passport that is signed: the commands that anybody else would use."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from bpc_worker.carrier.code import Printing, code_of, png
from bpc_worker.demo.files import list_files, make_room
from bpc_worker.demo.screen import draw_code
from bpc_worker.demo.stage import TENANT, Stage
from bpc_worker.demo.withheld import withheld

_EXPLAINED = "performance.energy"


def environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BPC_")}
    return kept | {"BPC_DATABASE_URL": url, "BPC_HTTP_PORT": "0", "BPC_LOG_LEVEL": "error"}


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection[dict[str, object]]]:
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def prove(stage: Stage, version_id: UUID, named: str = "") -> int:
    """`named`: what the files begin with that are not named by the version."""
    stage.out.mkdir(parents=True, exist_ok=True)
    names = (f"passport-{version_id}.zip", "keys.json", f"{named}public.sd-jwt", f"{named}qr.png")
    bundle, keys, view, picture = (stage.out / name for name in names)
    with connected(stage.url) as connection:
        [row] = connection.execute(
            "SELECT unique_identifier, disclosures FROM passport_versions WHERE passport_version_id = %s",
            [version_id],
        ).fetchall()
    identifier = str(row["unique_identifier"])
    picture.write_bytes(png(code_of(identifier, Printing())))
    draw_code(stage.console, identifier)
    stage.console.print(f"[bold]The code on the battery[/]  {identifier}\n", highlight=False)
    public = ("--audience", "public")
    export = ("passport", "export", str(version_id), "--tenant", TENANT)
    steps = (
        ("passport", "activate", str(version_id), "--tenant", TENANT),
        (*export, "--out", str(bundle)),
        ("keys", "export", "--tenant", TENANT, "--out", str(keys)),
        (*export, "--format", "view", *public, "--out", str(view)),
        ("passport", "verify", str(view), *public, "--id", identifier, "--keys", str(keys)),
        ("passport", "verify", str(bundle), "--keys", str(keys)),
        ("passport", "explain", str(version_id), _EXPLAINED, "--tenant", TENANT),
        ("passport", "replay", str(version_id), "--tenant", TENANT),
        ("audit", "verify", "--tenant", TENANT),
    )
    make_room(stage.out, view.name)
    failed = [step for step in steps if _run(stage, step) != 0]
    list_files(stage.out, [picture, *(Path(step[-1]) for step in steps[1:4] if step not in failed)])
    if failed:
        stage.console.print(f"[red]{len(failed)} of these commands failed[/]")
        return 1
    hidden = withheld(bytes(memoryview(row["disclosures"])), view.read_text())  # type: ignore[arg-type]
    stage.console.print(
        f"\n[bold]The public view withholds {len(hidden)}[/], and does not tell that they are there:\n"
        f"  {', '.join(hidden)}",
        highlight=False,
    )
    _next(stage, bundle, keys)
    return 0


def _run(stage: Stage, arguments: tuple[str, ...]) -> int:
    stage.console.print(f"[bold]$ bpc-worker {' '.join(arguments)}[/]", highlight=False)
    ended = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-m", "bpc_worker", *arguments], env=environment(stage.url), check=False
    )
    return ended.returncode


def _next(stage: Stage, bundle: Path, keys: Path) -> None:
    stage.console.print(
        f"\nThe passport is in {stage.out}/: {bundle.name} (its README.txt: how to check it with openssl),\n"
        "public.sd-jwt for everybody, qr.png for the battery, keys.json with the public key. Next:\n"
        f"  bpc-worker passport explain {bundle} {_EXPLAINED} --full --keys {keys}\n"
        f"  bpc-worker passport list --tenant {TENANT}     (with BPC_DATABASE_URL={stage.url})\n"
        "  bpc-worker demo --all          a battery of each class of the law\n"
        "  bpc-worker demo --chaos        a worker is killed in the middle, another takes over\n"
        "  bpc-worker demo --clean        remove the demo's database and its files",
        highlight=False,
        markup=False,
    )
