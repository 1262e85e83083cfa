"""The worker's Prometheus metrics: bounded labels, no ids."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bpc_worker.handler_api import Measure, Tally
from bpc_worker.jobs.errors import Code
from bpc_worker.jobs.store import Overdue, Running, Waiting, XminHolder
from bpc_worker.observability.job_metrics import JobMetrics

_CODES = frozenset(Code)
MOST_LABEL_VALUES = 50
_SIZE_BUCKETS = tuple(float(1024 * 4**power) for power in range(8))  # 1 KiB to 16 MiB


class BoundedLabel:
    """Those that are known and the first values up to fifty as they are, all later ones as `other`."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._seen = set(islice(known, MOST_LABEL_VALUES))

    def __call__(self, value: str) -> str:
        if value in self._seen:
            return value
        if len(self._seen) >= MOST_LABEL_VALUES:
            return "other"
        self._seen.add(value)
        return value


class Metrics:
    def __init__(self, *, types: Iterable[str] = (), queues: Iterable[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self._type = BoundedLabel(types)
        self._queue = BoundedLabel(queues)
        self._target = BoundedLabel()
        self._claim_code = BoundedLabel()
        self._jobs = JobMetrics(self._job)
        self.acquired = self._jobs.acquired  # of every job: without a detour
        self.registry.register(self._jobs)
        job = ("queue", "type")
        self._failed = self._counter("jobs_failed", "Attempts that failed", (*job, "reason"))
        self._retried = self._counter("jobs_retried", "Attempts to be tried again", job)
        self._dead = self._counter("jobs_dead_letter", "Jobs given up", job)
        self._produced = self._counter("jobs_produced", "Jobs queued by this process", job)
        self._rate_limited = self._counter("rate_limited", "Times a rate limit made somebody wait", ())
        self._wakeups = self._counter("wakeups", "Reasons to look for work", ("source",))
        self._looks = self._counter("looks", "Claim statements sent", ())
        self._passed_over = self._counter("jobs_passed_over", "Jobs that could not be taken", ())
        self._claims_failed = self._counter("claims_failed", "Claims that were not answered", ("code",))
        self._upkeep_failures = self._counter("upkeep_failures", "Failures of upkeep", ("task",))
        self._triggers = self._counter("trigger_messages", "AMQP messages heard", ())
        self._renewals = self._counter("lease_renewals", "Leases renewed", ())
        self._lost = self._counter("leases_lost", "Claims that became somebody else's", ())
        self._reaped = self._counter("reaper_jobs_moved", "Expired leases", ("action", "table"))
        self._suspects = self._counter("suspect_processes", "Processes of suspects, by their end", ("end",))
        self._scan = self._histogram("reaper_scan_duration_seconds", "One reaper pass", ("table",))
        self._broker = self._gauge("broker_connected", "1 while the AMQP consumer is there")
        self._bell = self._gauge("bell_listening", "1 while LISTEN is heard")
        self._slots = self._gauge("worker_slots_in_use", "Jobs running in this process")
        self._pool = self._gauge("db_pool_in_use", "Connections that handlers use at this moment")
        self._held = self._gauge("held_bytes", "Bytes of payloads and blobs that jobs hold at this moment")
        self._held_waiting = self._gauge("jobs_waiting_for_bytes", "Jobs that wait for room in held_bytes")
        self._length = self._gauge("queue_length", "Jobs that wait, as last counted", job)
        self._queue_oldest = self._gauge("queue_oldest_seconds", "How long the first has been due", job)
        self._running_oldest = self._gauge("running_oldest_seconds", "The oldest claim that runs", job)
        self._overdue = self._gauge("jobs_overdue", "Jobs that run for longer than they should", job)
        self._unhandled = self._gauge(
            "jobs_unhandled", "Jobs that wait and that no running worker takes", job
        )
        self._xmin = self._gauge(
            "db_oldest_xmin_seconds", "For how long dead rows have been kept for somebody"
        )
        self._xmin_age = self._gauge(
            "db_oldest_xmin_transactions", "Transactions since the oldest holder of dead rows", ("holder",)
        )
        self._disabled = self._gauge("webhook_endpoints_disabled", "Webhooks that are switched off")
        self._breakers = self._gauge("circuit_breaker_state", "0 closed, 1 half-open, 2 open", ("target",))
        self._dropped_keys = self._gauge("log_keys_dropped", "Log keys that were not allowed")
        self._measures = {
            Measure.COMPILE_DURATION: self._histogram(Measure.COMPILE_DURATION, "One compilation", ()),
            Measure.PAYLOAD_BYTES: self._size(Measure.PAYLOAD_BYTES, "Compiled payloads"),
            Measure.PROOF_BYTES: self._size(Measure.PROOF_BYTES, "Compiled proofs"),
            Measure.RECEIPT_BYTES: self._size(Measure.RECEIPT_BYTES, "Compiled receipts"),
        }
        self._tallies = {
            Tally.COMPILES: self._counter("compiles", "Compilations that came to an end", ("result",)),
            Tally.SIGNINGS: self._counter("signings", "Passport versions signed or refused", ("result",)),
            Tally.WEBHOOK_DELIVERIES: self._counter("webhook_deliveries", "Attempts to deliver", ("status",)),
        }
        self._how = {tally: BoundedLabel() for tally in Tally}
        for counter in (self._looks, self._triggers, self._renewals, self._lost, self._rate_limited):
            counter.inc(0)  # present from the start

    def _counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f"bpc_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"bpc_{name}", text, labels, registry=self.registry)

    def _histogram(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        buckets: tuple[float, ...] = Histogram.DEFAULT_BUCKETS,
    ) -> Histogram:
        return Histogram(f"bpc_{name}", text, labels, registry=self.registry, buckets=buckets)

    def _size(self, name: str, text: str) -> Histogram:
        return self._histogram(name, text, (), _SIZE_BUCKETS)

    def _job(self, queue: str, job_type: str) -> tuple[str, str]:
        return self._queue(queue), self._type(job_type)

    def looked(self) -> None:
        self._looks.inc()

    def passed_over(self, count: int) -> None:
        self._passed_over.inc(count)

    def claim_failed(self, code: str) -> None:
        self._claims_failed.labels(code=self._claim_code(code)).inc()

    def upkeep_failed(self, task: str) -> None:
        self._upkeep_failures.labels(task=task).inc()

    def settled(self, queue: str, job_type: str, *, status: str, seconds: float) -> None:
        self._jobs.settled(queue, job_type, status=status, seconds=seconds)
        if status == "DEAD_LETTER":
            self._dead.labels(*self._job(queue, job_type)).inc()

    def retried(self, queue: str, job_type: str) -> None:
        self._retried.labels(*self._job(queue, job_type)).inc()

    def failed(self, queue: str, job_type: str, *, reason: str) -> None:
        known = reason if reason in _CODES else "other"  # third parties have codes of their own
        self._failed.labels(*self._job(queue, job_type), known).inc()

    def produced(self, queue: str, job_type: str) -> None:
        self._produced.labels(*self._job(queue, job_type)).inc()

    def rate_limited(self) -> None:
        self._rate_limited.inc()

    def woken(self, source: str) -> None:
        self._wakeups.labels(source=source).inc()

    def triggered(self) -> None:
        self._triggers.inc()

    def renewed(self, count: int) -> None:
        self._renewals.inc(count)

    def lease_lost(self) -> None:
        self._lost.inc()

    def reaped(self, queue: str, job_type: str, *, action: str) -> None:
        self._reaped.labels(action=action, table="jobs").inc()
        if action == "dead_lettered":
            self._dead.labels(*self._job(queue, job_type)).inc()

    def suspects_ended(self, how: str) -> None:
        self._suspects.labels(end=how).inc()

    def table_reaped(self, table: str, *, action: str) -> None:
        self._reaped.labels(action=action, table=table).inc()

    def scanned(self, seconds: float) -> None:
        self._scan.labels(table="jobs").observe(seconds)

    def broker(self, *, connected: bool) -> None:
        self._broker.set(connected)

    def bell(self, *, listening: bool) -> None:
        self._bell.set(listening)

    def waiting(self, kinds: Sequence[Waiting] | None) -> None:
        self._length.clear()  # what does not wait any more has no sample, nor has what nobody knows
        self._queue_oldest.clear()
        self._unhandled.clear()
        oldest: dict[tuple[str, str], float] = {}
        for kind in kinds or ():  # several of which may be `other`
            labels = self._job(kind.queue, kind.type)
            self._length.labels(*labels).inc(kind.queued)
            if not kind.handled:
                self._unhandled.labels(*labels).inc(kind.queued)
            oldest[labels] = max(oldest.get(labels, 0.0), kind.oldest_seconds)
            self._queue_oldest.labels(*labels).set(oldest[labels])

    def running(self, kinds: Sequence[Running] | None) -> None:
        self._running_oldest.clear()
        for kind in kinds or ():
            if kind.oldest_seconds is not None:
                oldest = self._running_oldest.labels(*self._job(kind.queue, kind.type))
                oldest.set(max(0.0, kind.oldest_seconds))

    def overdue(self, jobs: Sequence[Overdue] | None) -> None:
        self._overdue.clear()
        for job in jobs or ():
            self._overdue.labels(*self._job(job.queue, job.type)).inc()

    def xmin_holders(self, holders: Mapping[str, XminHolder] | None) -> None:
        self._xmin_age.clear()
        if holders is None:
            self._xmin.set(math.nan)
            return
        self._xmin.set(max((holder.seconds for holder in holders.values()), default=0.0))
        for kind, holder in holders.items():
            self._xmin_age.labels(holder=kind).set(holder.transactions)

    def disabled_endpoints(self, count: int | None) -> None:
        self._disabled.set(math.nan if count is None else count)

    def breaker(self, target: str, state: int) -> None:
        self._breakers.labels(target=self._target(target)).set(state)

    def slots(self, in_use: Callable[[], float]) -> None:
        """Who is to be asked for it."""
        self._slots.set_function(in_use)

    def pool(self, in_use: Callable[[], float]) -> None:
        """Who is to be asked for it."""
        self._pool.set_function(in_use)

    def held(self, used: Callable[[], float], waiting: Callable[[], float]) -> None:
        """Who is to be asked for it."""
        self._held.set_function(used)
        self._held_waiting.set_function(waiting)

    def observe(self, measure: Measure, value: float) -> None:
        self._measures[measure].observe(value)

    def count(self, tally: Tally, how: str) -> None:
        self._tallies[tally].labels(self._how[tally](how)).inc()

    def text(self, *, dropped_log_keys: int) -> bytes:
        self._dropped_keys.set(dropped_log_keys)
        return generate_latest(self.registry)
