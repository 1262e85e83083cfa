"""A child or program that somebody has taken over reaches neither the network nor the worker's secrets."""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import reach

# As an ordinary account is: root without a single capability, now or after an exec.
ORDINARY = () if os.geteuid() != 0 else ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
NOBODY = pwd.getpwnam("nobody")
REFUSED = {"EPERM", "EACCES"}
NETWORK = {"socket", "socket6", "unix", "datagrams", "io_uring"}

WORKER = """
import asyncio, json, os, sys
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4
from bpc_worker.cli._common.startup import keep_secrets, load_settings
from bpc_worker.handler_api import Command
from bpc_worker.processes.pool import ChildLimits, Children
from handlers.run_command import RunCommand, handle
from tests.support import reach
from tests.support.child_tasks import REACH, Reach

load_settings(None)
keep_secrets()
account = json.loads(sys.argv[2])
account = None if account is None else tuple(account)

async def child(who=os.getpid()):
    children = Children(ChildLimits(processes=1, account=account), [REACH])
    try:
        return (await children.run(REACH, Reach(who), tenant_id=uuid4(), job_type="TEST_REACH")).found
    finally:
        await children.close()

async def child_for_zygote():
    return await child(0)

async def program(network=False, trusted=False):
    argv = (sys.executable, "-I", reach.__file__)
    if account is not None:  # who may not read where our interpreter lies
        argv = ("/usr/bin/python3", "-I", "-c", Path(reach.__file__).read_text())
    command = Command(argv=argv, args=(r"\\d+",), network=network, trusted=trusted, account=account)
    job = SimpleNamespace(job_id=uuid4(), tenant_id=uuid4(), attempt=1)
    hands = SimpleNamespace(commands={"reach": command}, job=job, check_lease=lambda: None)
    return (await handle(RunCommand(command="reach", args=(str(os.getpid()),)), hands))["answer"]

async def program_with_network():
    return await program(network=True)

async def signer():
    return await program(trusted=True)

print(json.dumps(asyncio.run(globals()[sys.argv[1]]())))
"""


def reached(who: str, *, before: Sequence[str] = (), account: object = None) -> dict[str, str]:
    secret = {"BPC_DATABASE_URL": "postgresql://u:hunter2@h/d"}
    ran = subprocess.run(
        [*before, sys.executable, "-c", WORKER, who, json.dumps(account)],
        env={**os.environ, **secret}, capture_output=True, text=True, timeout=60, check=False,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found: dict[str, str] = json.loads(ran.stdout)
    return found


def got_through(found: dict[str, str]) -> dict[str, str]:
    return {name: found[name] for name in reach.TRIES if found[name] not in REFUSED}


@pytest.mark.parametrize("who", ["child", "child_for_zygote", "program"])
@pytest.mark.parametrize("before", [pytest.param((), id="as we are"), pytest.param(ORDINARY, id="ordinary")])
def test_neither_a_socket_nor_the_worker_is_in_reach(who: str, before: Sequence[str]) -> None:
    found = reached(who, before=before)

    assert got_through(found) == {}
    assert (found["NoNewPrivs"], found["Seccomp"], found["pair"]) == ("1", "2", "True")
    assert int(found["CapPrm"], 16) == int(found["CapEff"], 16) == 0


def test_a_program_that_needs_the_network_gets_it_and_nothing_else() -> None:
    found = reached("program_with_network", before=ORDINARY)

    assert set(got_through(found)) == NETWORK
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


def test_the_program_that_holds_our_keys_keeps_its_rights() -> None:
    found = reached("signer", before=ORDINARY)

    assert set(got_through(found)) > NETWORK
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("0", "0")


@ROOT
@pytest.mark.parametrize("who", ["child", "program", "program_with_network"])
def test_where_the_worker_is_root_children_are_somebody_else(who: str) -> None:
    found = reached(who, account=(NOBODY.pw_uid, NOBODY.pw_gid))

    assert set(got_through(found)) == (NETWORK if who == "program_with_network" else set())
    assert (found["uid"], found["groups"]) == (str(NOBODY.pw_uid), str([NOBODY.pw_gid]))
    assert int(found["CapPrm"], 16) == int(found["CapEff"], 16) == 0


@pytest.mark.parametrize("who", ["child", "program"])
def test_where_memory_runs_out_children_go_before_their_worker(who: str) -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())

    assert int(reached(who)["oom"]) == min(1000, own + 500)
