"""A worker's engine on the memory store, in one event loop and with time that stands still."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from bpc_worker.engine.beginnings import Beginnings
from bpc_worker.engine.claiming.intake import Intake, IntakeParts
from bpc_worker.engine.claiming.rate_limits import RateLimits
from bpc_worker.engine.claiming.slots import Slots
from bpc_worker.engine.context import Equipment
from bpc_worker.engine.handler_thread import HandlerThread, ThreadMailbox
from bpc_worker.engine.health import Health
from bpc_worker.engine.held_bytes import HeldBytes
from bpc_worker.engine.lease import LeaseKeeper, LeaseTiming
from bpc_worker.engine.runner import Runner
from bpc_worker.engine.running_job import JobParts
from bpc_worker.engine.running_jobs import RunningJobs
from bpc_worker.engine.settler import Settler
from bpc_worker.engine.wake import Wake
from bpc_worker.handler_api import Context, HandlerSpec, Payload
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.model import Claim, JobId, LeaseToken, Status
from bpc_worker.jobs.queue_settings import QueueSettings
from bpc_worker.jobs.settlement import Settlement, Settlements
from bpc_worker.jobs.store import PLAIN_TERMS, Caps, ClaimTerms, Ends, Look
from bpc_worker.memory.store import MemoryJobStore
from bpc_worker.memory.table import Table
from bpc_worker.registry import Registry
from bpc_worker.testing import A_TENANT, FakeClock, a_job

if TYPE_CHECKING:
    import msgspec

    from bpc_worker.jobs.errors import JobError

Handle = Callable[[Payload, Context], Awaitable[object]]
TYPES = ("TEST_NOOP", "TEST_WAIT", "TEST_CHILD", "TEST_OUTSIDE", "RECORD_DEAD_LETTER")
POLL = 1.0
LEASE = 60.0
TIMEOUT = 30.0


class Store(MemoryJobStore):
    """Whose next calls may fail, be held up, or be counted."""

    def __init__(self, clock: FakeClock, types: Collection[str] = TYPES, table: Table | None = None) -> None:
        super().__init__(QueueSettings(owner="me", types=tuple(types)), clock=clock, table=table)
        self.looks: list[tuple[int, bool, int]] = []  # limit, fresh, ends
        self.terms: list[ClaimTerms] = []
        self.troubles: list[JobError] = []
        self.unwritten = False  # ends that travel with a claim are not all written
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def claim(
        self,
        *,
        limit: int,
        fresh: bool = True,
        caps: Caps | None = None,
        ends: Ends = (),
        terms: ClaimTerms = PLAIN_TERMS,
    ) -> Look:
        self.looks.append((limit, fresh, len(ends)))
        self.terms.append(terms)
        await self.go_on.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        if self.unwritten and ends:
            look = await super().claim(limit=limit, fresh=fresh, caps=caps, terms=terms)
            return replace(look, ended=False)
        return await super().claim(limit=limit, fresh=fresh, caps=caps, ends=ends, terms=terms)

    async def settle_group(self, ends: Sequence[tuple[Claim, Settlement]]) -> dict[LeaseToken, Status]:
        return await super().settle_group(ends)


class OneLoop(HandlerThread):
    """The handlers' loop is the test's own; it is blocked when the test says so."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.loop = asyncio.get_running_loop()
        self.to_handlers = ThreadMailbox(self.loop)
        self.to_control = ThreadMailbox(self.loop)
        self.is_blocked = False
        self._clock = clock

    def start_prepared(self) -> None:
        if not self.is_blocked:
            super().start_prepared()

    @property
    def blocked(self) -> bool:
        return self.is_blocked


@dataclass
class Counts:
    """Every metric that the engine tells, as words."""

    told: list[str] = field(default_factory=list)

    def looked(self) -> None: ...

    def passed_over(self, count: int) -> None:
        self.told.append(f"passed over {count}")

    def claim_failed(self, code: str) -> None:
        self.told.append(f"claim failed {code}")

    def woken(self, source: str) -> None:
        self.told.append(f"woken {source}")

    def acquired(self, queue: str, job_type: str, *, waited: float) -> None: ...

    def produced(self, queue: str, job_type: str) -> None:
        self.told.append(f"produced {queue} {job_type}")

    def settled(self, _: str, __: str, *, status: str, seconds: float) -> None:  # noqa: ARG002 - a name
        self.told.append(f"settled {status}")

    def failed(self, _: str, __: str, *, reason: str) -> None:
        self.told.append(f"failed {reason}")

    def retried(self, _: str, __: str) -> None:
        self.told.append("retried")

    def lease_lost(self) -> None:
        self.told.append("lease lost")


class Room:
    """All parts of an engine, and short words to work them by hand."""

    def __init__(self, slots: int = 2, *, limits: RateLimits | None = None, useful: int = 99) -> None:
        self.clock = FakeClock()
        self.store = Store(self.clock)
        self.wake, self.metrics, self.stuck = Wake(), Counts(), asyncio.Event()
        self.health = Health(clock=self.now)
        self.handlers = OneLoop(self.now)
        self.settlements = Settlements(Backoff(), lambda: 0.0)
        self.settler = Settler(self.store, self.settlements, on_database=self.health.note_holder)
        timing = LeaseTiming(lease_seconds=LEASE, renew_seconds=LEASE / 2)
        self.keeper = LeaseKeeper(
            self.store, timing, dice=lambda: 0.5, on_renewed=lambda _: None,
            on_database=self.health.note_holder, clock=self.now,
        )  # fmt: skip
        self.slots = Slots(
            slots, in_children=["TEST_CHILD"], max_useful_jobs=lambda: useful, io_bound=["TEST_OUTSIDE"]
        )
        self.intake = Intake(self._intake_parts(limits), poll_seconds=POLL, stuck=self.stuck)
        self.ended: list[str] = []
        self.let_go = asyncio.Event()
        self.handle: Handle = self.until_let_go
        self.notified: list[str | None] = []
        self.jobs = RunningJobs(
            self._job_parts(), self.intake, self._registry(), self.wake, self.metrics,
            notify_other_workers=self.notified.append, stuck=self.stuck,
        )  # fmt: skip
        self.runner = Runner(
            self.intake, self.jobs, self.settler, self.wake, self.metrics,
            poll_seconds=POLL, dice=lambda: 0.5,
        )  # fmt: skip

    def _intake_parts(self, limits: RateLimits | None) -> IntakeParts:
        return IntakeParts(
            store=self.store, settler=self.settler, slots=self.slots, rate_limits=limits, wake=self.wake,
            health=self.health, metrics=self.metrics, clock=self.now,
        )  # fmt: skip

    def _job_parts(self) -> JobParts:
        equipment = Equipment(
            database=None, ahead=None, children=None, commands={}, policy=None, keyring=None,  # type: ignore[arg-type]  # no handler here asks for them
            breakers=None, egress=None, turnstiles=None, settlement=self.settlements, metrics=None,  # type: ignore[arg-type]
            held=HeldBytes(1),
        )  # fmt: skip
        beginnings = Beginnings(
            self.store,
            start_prepared=self.handlers.start_prepared,
            on_database=self.health.note_database,
        )
        return JobParts(
            keeper=self.keeper, settler=self.settler, handlers=self.handlers, beginnings=beginnings,
            equipment=equipment,
            metrics=self.metrics, clock=self.now, default_timeout=TIMEOUT,
            leave_slot=self.intake.leave_slot, on_stuck=self.stuck.set,
        )  # fmt: skip

    def _registry(self) -> Registry:
        async def handle(payload: Payload, ctx: Context) -> object:
            return await self.handle(payload, ctx)

        async def noop(_: Payload, ctx: Context) -> object:
            self.ended.append(str(ctx.job.job_id))
            return None

        specs = {
            name: HandlerSpec(job_type=name, payload=Payload, handle=noop if name == "TEST_NOOP" else handle)
            for name in TYPES
        }
        return cast("Registry", cast("dict[str, HandlerSpec[msgspec.Struct]]", specs))

    async def until_let_go(self, _: Payload, __: Context) -> object:
        await self.let_go.wait()
        return None

    def now(self) -> float:
        return self.clock.now.timestamp()

    async def enqueue(self, job_type: str = "TEST_NOOP", count: int = 1, **changes: object) -> list[JobId]:
        jobs = [a_job(job_type, **changes) for _ in range(count)]
        return [each.job_id for each in await self.store.enqueue_many(A_TENANT, jobs)]

    def statuses(self) -> list[str]:
        return [row.status.value for row in self.store.table.rows.values()]

    async def take(self) -> int:
        """What the runner does in one round; how many jobs began."""
        batch = await self.intake.next_batch()
        self.jobs.start(batch.claims)
        self.settler.confirm(batch.written)
        return len(batch.claims)

    async def settled(self) -> None:
        """Until nothing in the loop has anything to do."""
        await steps(40)


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
