"""What a child costs that has served nobody: `python -m tests.bench.bench_children [rounds]`.

CPU time in milliseconds of all processes that take part, the worker's own too, until a call is answered and
its child is gone; not time on the wall, as the machine may be busy with something else. First one call by a
started Python, by a freshly forked child and by a child that has answered before; then a mix of calls through
the pool, as a worker with one tenant or with many makes them.
"""

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from bpc_worker.domain.checked_rules import check_shipped, checked_rules
from bpc_worker.files.rules import read_rules
from bpc_worker.handler_api import AnyChildTask, ChildTask, TenantId
from bpc_worker.processes.frames import ChildCall, frame
from bpc_worker.processes.pool import ChildLimits, Children
from handlers.generate_qr import DRAW
from handlers.generate_qr import Request as Draw
from tests.bench.bench_qr import passport_text
from tests.support.child_tasks import BURN, Burn

ROUNDS = 50
MILLISECOND = 2_500  # rounds of hashing, about
STARTED = """
import sys
from bpc_worker.processes import child, confinement, hardening
from bpc_worker.processes.frames import frame, read_frame
confinement.confine(None, network=False)
hardening.close_memory()
sys.stdout.buffer.write(frame(child.answer(read_frame(sys.stdin.buffer))))
"""


class Rules(msgspec.Struct):
    text: str
    rounds: int  # of hashing, in place of the compile that follows


class Checked(msgspec.Struct):
    fields: int


def check(request: Rules) -> Checked:
    found = checked_rules(request.text)
    BURN.run(Burn(request.rounds))
    return Checked(len(found.fields))


CHECK = ChildTask(
    name="tests.bench.bench_children:CHECK", request=Rules, response=Checked, run=check, warm_up=check_shipped
)
TASKS = (CHECK, BURN, DRAW)
Call = tuple[AnyChildTask, msgspec.Struct]


def calls() -> dict[str, Call]:
    shipped = read_rules("battery_core")
    return {
        "hash for a moment": (BURN, Burn(1)),
        "draw a code": (DRAW, Draw(passport_text(1))),
        "shipped rules": (CHECK, Rules(shipped, 1)),
        "a tenant's own rules": (CHECK, Rules(f"{shipped}\n", 1)),
    }


def ticks(pid: int) -> float:
    """Milliseconds used by a process and by its children that have ended."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def started(call: Call, rounds: int) -> float:
    task, request = call
    message = frame(ChildCall(task.name, msgspec.msgpack.encode(request)))
    before = _own() + _children()
    for _ in range(rounds):
        subprocess.run(
            [sys.executable, "-I", "-c", STARTED], input=message, stdout=subprocess.PIPE, check=True
        )
    return (_own() + _children() - before) / rounds


def _own() -> float:
    return 1000 * time.process_time()


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (used.ru_utime + used.ru_stime)


async def forked(work: Sequence[tuple[TenantId, Call]]) -> float:
    """Milliseconds of CPU of all calls, one after the other; the zygote's start is not among them."""
    pool = Children(ChildLimits(processes=1), TASKS)
    try:
        task, request = calls()["hash for a moment"]
        await pool.run(task, request, tenant_id=_tenant(-1), job_type="BENCH")
        zygote = await pool._living_zygote()
        pool.idle.clear()
        before = _own() + ticks(zygote.pid)
        for tenant_id, (task, request) in work:
            await pool.run(task, request, tenant_id=tenant_id, job_type="BENCH")
        children = [child.ended for child in pool.idle]
        pool.idle.clear()
        await asyncio.wait(children)
        return _own() + ticks(zygote.pid) - before
    finally:
        await pool.close()


def _tenant(number: int) -> TenantId:
    return TenantId(UUID(int=number + 1))


async def one_call(call: Call, rounds: int) -> tuple[float, float]:
    """By fresh children, and by one that has answered before."""
    fresh = await forked([(_tenant(number), call) for number in range(rounds)]) / rounds
    first, many = await forked([(_tenant(0), call)]), await forked([(_tenant(0), call)] * (4 * rounds))
    return fresh, (many - first) / (4 * rounds - 1)


def mix(tenants: int, rounds: int) -> list[tuple[TenantId, Call]]:
    """Three documents read, a passport compiled, compiled again and drawn, for one tenant after the other."""
    known = calls()
    draw, rules = known["draw a code"], known["shipped rules"]
    small: Call = (BURN, Burn(3 * MILLISECOND))
    compiled: Call = (rules[0], msgspec.structs.replace(rules[1], rounds=15 * MILLISECOND))
    passport = [small] * 3 + [compiled] * 2 + [draw]
    return [(_tenant(number % tenants), call) for number in range(rounds) for call in passport]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    print(f"{'CPU ms for one call':24} {'started Python':>16} {'fresh child':>12} {'used child':>11}")
    for name, call in calls().items():
        fresh, used = asyncio.run(one_call(call, rounds))
        print(f"{name:24} {started(call, max(3, rounds // 5)):16.1f} {fresh:12.1f} {used:11.1f}", flush=True)
    print(f"\n{'CPU ms for one passport':24} {'in the pool':>16}")
    for name, tenants in (("one tenant", 1), ("two tenants by turns", 2), ("twenty by turns", 20)):
        took = asyncio.run(forked(mix(tenants, rounds))) / rounds
        print(f"{name:24} {took:16.1f}", flush=True)


if __name__ == "__main__":
    main()
