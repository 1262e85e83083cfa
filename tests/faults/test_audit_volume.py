"""A million events: verified in one pass, signed and proved, and one of them changed, in flat memory."""

import json
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.database import Database
from tests.support.many_events import add_events
from tests.support.pipeline import keyed
from tests.support.worker import COMMAND, environment

LENGTH = 100  # of a chain
FEW, MANY = 1_000, 10_000  # chains


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    seconds: float
    megabytes: float


def run(db: Database, *arguments: str) -> Ran:
    """A command, with the most memory that it had at once."""
    began = time.monotonic()
    with subprocess.Popen(
        [*COMMAND, *arguments], env=environment(db.url_as("bpc_app")), stdout=subprocess.PIPE, text=True
    ) as process:
        most = 0.0
        while process.poll() is None:
            most = max(most, peak_megabytes(process.pid))
            time.sleep(0.02)
        assert process.stdout is not None
        out = process.stdout.read()
    ran = Ran(process.returncode, out, time.monotonic() - began, most)
    print(f"{' '.join(arguments[:2])}: {ran.seconds:.1f} s, {ran.megabytes:.0f} MB, exit {ran.code}")
    return ran


def peak_megabytes(pid: int) -> float:
    """Of the program alone: what the kernel tells at its end counts what its parent had before, too."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except ProcessLookupError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def test_a_million_events(db: Database, tmp_path: Path) -> None:
    keyed(db)
    tenant, first, second = db.tenant(), tmp_path / "1.json", tmp_path / "2.json"
    add_events(db, tenant, chains=FEW, length=LENGTH)
    small = [run(db, "audit", "verify"), checkpoint(db, first)]
    add_events(db, tenant, chains=MANY - FEW, length=LENGTH, first_chain=FEW + 1)
    verified = run(db, "audit", "verify", "--json")
    large = [verified, checkpoint(db, second)]

    [report] = json.loads(verified.out)["tenants"]
    assert (report["chains"], report["events"], report["broken"]) == (MANY + 1, MANY * LENGTH + 1, 0)
    for few, many in zip(small, large, strict=True):
        assert 0 < many.megabytes < few.megabytes * 1.15
    proved(db, first, second, tmp_path)

    with db.connect() as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE events SET actor_id = 'x' WHERE aggregate_version = 77 AND aggregate_id ="
            " (SELECT max(aggregate_id::text)::uuid FROM event_heads WHERE aggregate_type = 'passport')"
        )
    hurt = run(db, "audit", "verify", "--against", str(second), "--json")
    [report] = json.loads(hurt.out)["tenants"]
    assert (report["leaves"], report["leaf_findings"]) == (MANY * LENGTH + 1, [])
    assert [(each["aggregate_version"], each["flaw"]) for each in report["findings"]] == [(77, "WRONG_HASH")]
    assert hurt.megabytes < small[0].megabytes * 1.15


def checkpoint(db: Database, out: Path) -> Ran:
    ran = run(db, "audit", "checkpoint", "--tenant", "acme", "--out", str(out))
    assert ran.code == 0
    print(f"  {ran.out.strip()}; {out.stat().st_size / 1e6:.1f} MB")
    return ran


def proved(db: Database, first: Path, second: Path, folder: Path) -> None:
    middle = db.one("SELECT event_id::text FROM event_leaves WHERE leaf_index = 567890")["event_id"]
    event, both, keys = (str(folder / name) for name in ("event.json", "both.json", "keys.json"))
    assert run(db, "keys", "export", "--tenant", "acme", "--out", keys).code == 0
    made = (
        run(db, "audit", "prove-inclusion", str(middle), "--checkpoint", str(second), "--out", event),
        run(db, "audit", "prove-consistency", str(first), str(second), "--out", both),
        run(db, "audit", "check-proof", event, "--keys", keys, "--checkpoint", str(second)),
        run(db, "audit", "check-proof", both, "--keys", keys),
        run(db, "audit", "compare", str(first), str(second), "--keys", keys),
    )
    assert [ran.code for ran in made] == [0] * 5
