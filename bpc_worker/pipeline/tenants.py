"""Tenants and jobs, as commands add them. Raises JobError; prints nothing."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import msgspec

from bpc_worker import wiring
from bpc_worker.amqp.listener import publish_once
from bpc_worker.config.settings import Settings
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import JobId, NewJob, Priority, TenantId
from bpc_worker.jobs.payloads import decode
from bpc_worker.pipeline.session import uuid_or_none
from bpc_worker.postgres import tenants
from bpc_worker.postgres.connection import Link
from bpc_worker.postgres.queue.own_queue import OwnQueue
from bpc_worker.postgres.sql_files import query
from bpc_worker.postgres.tenants import Tenant
from bpc_worker.registry import Registry
from bpc_worker.rows import as_uuid

_CALL_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    job_id: JobId
    added: bool
    not_told: str | None  # why no trigger was published; None when it was, or none is wanted


async def add_tenant(settings: Settings, url: str, name: str) -> tuple[TenantId, bool]:
    """The tenant's id, and whether it is new."""
    found = uuid_or_none(name)
    if found is not None and str(found) == name.lower():
        raise Permanent(Code.VALIDATION_ERROR, f"{name} is an id, and no name of a tenant; choose another")
    with _link(settings, url) as link:
        rows = await link.run(query("tenants/add"), {"name": name}, timeout=_CALL_SECONDS)
    return TenantId(as_uuid(rows[0]["tenant_id"])), bool(rows[0]["added"])


async def list_tenants(settings: Settings, url: str) -> list[Tenant]:
    with _link(settings, url) as link:
        return await tenants.list_tenants(link, timeout=_CALL_SECONDS)


async def enqueue(settings: Settings, registry: Registry, url: str, *, tenant: str, job: NewJob) -> Queued:
    """Insert, commit, then wake the workers: a failed wake-up is never a lost job."""
    not_told = None
    with (
        _link(settings, url) as link,
        closing(wiring.tracer(settings)) as tracer,
        tracer.producing(f"enqueue {job.type}") as traceparent,
    ):
        tenant_id = (await tenants.tenant(link, tenant, timeout=_CALL_SECONDS)).tenant_id
        queue = OwnQueue(link, wiring.queue_settings(settings, registry))
        done = await queue.enqueue(tenant_id, replace(job, traceparent=job.traceparent or traceparent))
        if done.added and settings.queue.enabled and settings.queue.url is not None:
            broker = wiring.broker(settings, settings.queue.url)
            not_told = await publish_once(broker, traceparent=traceparent)
    return Queued(job_id=done.job_id, added=done.added, not_told=not_told)


@contextmanager
def _link(settings: Settings, url: str) -> Iterator[Link]:
    link = Link(wiring.dsn(settings, url))
    try:
        yield link
    finally:
        link.drop()


def payload_for(registry: Registry, job_type: str, text: str) -> object:
    """The payload as JSON; checked now when its handler is installed here, else by the worker that has it."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Permanent(Code.VALIDATION_ERROR, f"the payload is not JSON: {error}") from error
    if job_type in registry:
        decode(text, registry[job_type].payload)
    return value


def priority_from(given: str | None) -> Priority | None:
    """0..3 or a label."""
    if given is None:
        return None
    try:
        return Priority.named(given)
    except ValueError as error:
        allowed = ", ".join(f"{priority.value} ({priority.label})" for priority in Priority)
        raise Permanent(Code.VALIDATION_ERROR, f"priority {given!r} is none of {allowed}") from error
