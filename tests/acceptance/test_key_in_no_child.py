"""The private key is in no child, neither in what it was told nor in its memory, and no core is left."""

import json
import os
import pwd
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.pipeline.keys import add_key
from tests.support.children import children_of, processes_below
from tests.support.database import Database
from tests.support.pipeline import battery, pipeline
from tests.support.worker import Worker, until, worker

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root reads another process's memory"),
]

SEED = sha256(b"a seed to look for")
DISCLOSURE_KEY = sha256(b"another secret to look for")
COMMANDS = {"waits": {"argv": ["/bin/sleep", "600"], "timeout_seconds": 120}}
_LARGEST = 64 * 2**20


def forms(secret: bytes) -> dict[str, bytes]:
    return {
        "raw": secret,
        "hex": secret.hex().encode(),
        "base64": b64encode(secret)[:43],
        "utf-16": b64encode(secret)[:43].decode().encode("utf-16-le"),
    }


FORMS = {f"{name} {how}": form for name, secret in (("seed", SEED), ("disclosure key", DISCLOSURE_KEY))
         for how, form in forms(secret).items()}  # fmt: skip


def memory(pid: int) -> Iterator[bytes]:
    """Everything that is mapped and can be read, a piece at a time."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:  # noqa: PTH123 - unbuffered
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights = line.split()[:2]
            start, end = (int(each, 16) for each in place.split("-"))
            if rights.startswith("r") and "[v" not in line:
                for at in range(start, end, _LARGEST):
                    with suppress(OSError, OverflowError):
                        file.seek(max(start, at - 128))
                        yield file.read(min(_LARGEST, end - at) + 128)


def secrets_in(pid: int) -> set[str]:
    told = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
    found = {name for name, form in FORMS.items() if form in told}
    for piece in memory(pid):
        found |= {name for name, form in FORMS.items() if form in piece}
    return found


def children(running: Worker) -> dict[int, str]:
    """By their number: all that are not just being started."""
    own = Path(f"/proc/{running.pid}/cmdline").read_bytes()
    found = {}
    for pid in processes_below(running.pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            said = Path(f"/proc/{pid}/cmdline").read_bytes()
            if said not in {own, b""}:
                found[pid] = said.replace(b"\0", b" ").decode(errors="replace")
    return found


def core_limit(pid: int) -> str:
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    [line] = [line for line in limits if line.startswith("Max core file size")]
    return line.split()[4]


def test_the_private_key_is_in_no_child(db: Database, tmp_path: Path) -> None:
    path = pipeline(db)
    key = Ed25519Signer("looked for", SEED)
    path.call(lambda pipeline: add_key(pipeline, key.key_id, key.public_key))
    db.enqueue("RUN_COMMAND", json.dumps({"command": "waits"}))
    settings = {
        "BPC_SIGNING_KEY_ID": key.key_id,
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": b64encode(SEED).decode(),
        "BPC_DISCLOSURE_KEY": b64encode(DISCLOSURE_KEY).decode(),
        "BPC_COMMANDS": json.dumps(COMMANDS),
        "BPC_WORKER_CHILD_IDLE_SECONDS": 600,
    }
    with worker(db.url_as("bpc_worker"), **settings) as running:
        build = path.build(battery(tmp_path / "battery", "S-1"))
        assert path.ended(build).state == "DONE"
        there = until(lambda: _both(children(running)), within=30, what="children of both kinds")
        found = {pid: secrets_in(pid) for pid in there}
        [zygote] = [pid for pid in children_of(running.pid) if "bpc_worker.child" in there[pid]]
        workers = set(children_of(zygote)) & there.keys()
        limits = {core_limit(pid) for pid in [running.pid, *there]}
        in_worker = secrets_in(running.pid)

    assert path.version(build)["public_key"] == key.public_key
    assert len(workers) >= 3, "of those that parse, compile and draw"
    assert found == {pid: set() for pid in there}
    assert limits <= {"0", "1"}
    assert {"seed raw", "seed base64"} <= in_worker, "whoever looks must be able to find it where it is"


def _both(there: dict[int, str]) -> dict[int, str]:
    kinds = ("bpc_worker.child", "processes.watcher", "sleep")
    return there if all(any(kind in said for said in there.values()) for kind in kinds) else {}


def test_children_under_an_account_that_reads_none_of_our_files_make_a_passport(
    db: Database, tmp_path: Path
) -> None:
    """All kinds of children, the one that draws too: what they need was imported before."""
    path, nobody = pipeline(db), str(pwd.getpwnam("nobody").pw_uid)
    with worker(
        db.url_as("bpc_worker"), BPC_WORKER_CHILD_ACCOUNT="nobody", BPC_WORKER_CHILD_IDLE_SECONDS=600
    ) as running:
        assert path.ended(path.build(battery(tmp_path / "battery", "S-1"))).state == "DONE"
        [zygote] = children_of(running.pid)
        statuses = [Path(f"/proc/{pid}/status").read_text() for pid in children_of(zygote)]

    assert {status.partition("Uid:")[2].split()[0] for status in statuses} == {nobody}
