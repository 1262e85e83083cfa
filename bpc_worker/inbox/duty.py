"""A producer made of settings: what `app` runs beside the other duties of a worker."""

from functools import partial
from pathlib import Path

from bpc_worker import ids, wiring
from bpc_worker.config.settings import Settings
from bpc_worker.engine.background import Duty, WorkerHooks
from bpc_worker.inbox.files import Inbox
from bpc_worker.inbox.handover import Handover, Started, Tell, Terms
from bpc_worker.inbox.jobs import Priorities
from bpc_worker.inbox.layout import Wanted
from bpc_worker.inbox.producer import Producer
from bpc_worker.inbox.queries import InboxQueries
from bpc_worker.jobs.model import Priority
from bpc_worker.pipeline.builds.folder import Folder
from bpc_worker.pipeline.builds.start import start_build
from bpc_worker.pipeline.session import open_pipeline
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.gate import Allowance
from bpc_worker.postgres.queue.blobs import PostgresBlobs
from bpc_worker.postgres.queue.own_queue import OwnQueue
from bpc_worker.postgres.queue.token_buckets import Buckets, Limit
from bpc_worker.registry import Registry


def duty(settings: Settings, registry: Registry, url: str, folder: str) -> Duty:
    async def produce(hooks: WorkerHooks) -> None:
        wanted = settings.producer
        dsn, call_timeout = (
            wiring.dsn(settings, url, suppress_insert_notify=True),
            wiring.call_timeout(settings),
        )
        link, own = Link(dsn.for_answers_within(call_timeout)), Link(dsn)
        queue = OwnQueue(own, wiring.queue_settings(settings, registry))
        inbox = Inbox(Path(folder), Wanted(include=wanted.include_globs, exclude=wanted.exclude_globs))
        handover = Handover(
            inbox=inbox,
            queries=InboxQueries(link, queue, call_timeout=call_timeout),
            queue=queue,
            blobs=PostgresBlobs(own, timeout=settings.database.statement_timeout_seconds + call_timeout),
            start_build=partial(_start_build, settings, registry, url, Allowance()),
            terms=_terms(settings),
            hooks=hooks,
        )
        limit = Limit(key=wanted.rate_limit_key, per_second=wanted.rate_limit_per_sec)
        producer = Producer(
            inbox,
            handover,
            hooks,
            pause=lambda: ids.spread(wanted.scan_interval_seconds, 0.1),
            take_token=partial(Buckets(link, call_timeout=call_timeout).take, limit)
            if limit.per_second
            else None,
        )
        try:
            await producer.run()
        finally:
            link.drop()
            own.drop()

    return produce


def _terms(settings: Settings) -> Terms:
    wanted = settings.producer
    return Terms(
        document_bytes=settings.limits.document_bytes,
        priorities=Priorities(
            default=Priority.named(wanted.default_priority),
            high_endings=frozenset(wanted.high_priority_exts),
        ),
    )


async def _start_build(
    settings: Settings,
    registry: Registry,
    url: str,
    builds: Allowance,
    tenant: str,
    folder: Folder,
    tell: Tell,
) -> Started:
    async with open_pipeline(settings, registry, url, tenant, tell, allowance=builds) as pipeline:
        state = await start_build(pipeline, folder)
    return Started(pipeline.tenant_id, state.build_id)
