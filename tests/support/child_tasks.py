"""Work for children in tests: found by name, like a handler's own tasks."""

import ctypes
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from bpc_worker.handler_api import ChildTask, Permanent
from tests.support.reach import everything


class Ask(msgspec.Struct):
    do: str
    number: int = 0


class Say(msgspec.Struct):
    number: int
    pid: int
    zygote: int = 0
    warmed_up_in: int = 0
    random: float = 0.0
    environment: dict[str, str] = {}
    descriptors: dict[str, str] = {}
    nice: int = 0
    dumpable: int | None = None
    core_bytes: int | None = None


_kept: list[bytearray] = []
_warmed_up_in = [0]
_PR_GET_DUMPABLE = 3


def work(request: Ask) -> Say:  # noqa: C901 - one branch per thing to do
    match request.do:
        case "double":
            print("this must not get between the answers")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "signal":
            os.kill(os.getpid(), request.number)
        case "exit":
            sys.exit(7)
        case "leave":  # a process behind, in a session of its own
            left = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
            request.number = left.pid
        case "hang":
            time.sleep(600)
        case "burn":
            while True:
                pass
        case "eat":
            _ = bytearray(4_000_000_000)
        case "leak":
            _kept.append(bytearray(request.number))
        case "refuse":
            raise Permanent("UNIT_MISMATCH", "kg is not kWh", detail={"line": 3})
        case "bug":
            raise ZeroDivisionError("a bug")
    return Say(
        request.number * 2,
        os.getpid(),
        os.getppid(),
        _warmed_up_in[0],
        random.random(),
        dict(os.environ),
        {path.name: str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()},
        os.getpriority(os.PRIO_PROCESS, 0),
        ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE),
        resource.getrlimit(resource.RLIMIT_CORE)[0],
    )


def warm_up() -> None:
    _warmed_up_in[0] = os.getpid()


WORK = ChildTask(name="tests.support.child_tasks:WORK", request=Ask, response=Say, run=work, warm_up=warm_up)
OTHER_WORK = ChildTask(name="tests.support.child_tasks:OTHER_WORK", request=Ask, response=Say, run=work)


class Burn(msgspec.Struct):
    rounds: int


class Burnt(msgspec.Struct):
    digest: bytes
    pid: int


def burn(request: Burn) -> Burnt:
    return Burnt(hashlib.pbkdf2_hmac("sha256", b"password", b"salt", request.rounds), os.getpid())


BURN = ChildTask(name="tests.support.child_tasks:BURN", request=Burn, response=Burnt, run=burn)


class Reach(msgspec.Struct):
    worker: int  # 0: the zygote


class Reached(msgspec.Struct):
    found: dict[str, str]


def reach(request: Reach) -> Reached:
    return Reached(everything(request.worker or os.getppid()))


REACH = ChildTask(name="tests.support.child_tasks:REACH", request=Reach, response=Reached, run=reach)
