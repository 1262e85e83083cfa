"""What the settings mean to the parts: addresses, limits and keys, in the words of each."""

import os
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import NamedTuple

from bpc_worker.amqp.listener import Broker
from bpc_worker.config.maps import OTHERS
from bpc_worker.config.settings import Settings
from bpc_worker.egress.breaker import BreakerRules
from bpc_worker.egress.client import Poster
from bpc_worker.egress.targets import EgressRules
from bpc_worker.handler_api import Command, Policy, Signer
from bpc_worker.ids import nonce
from bpc_worker.jobs.backoff import Backoff
from bpc_worker.jobs.queue_settings import QueueSettings, TypeDefaults
from bpc_worker.jobs.store import SampleRules
from bpc_worker.keys.command_signer import CommandSigner
from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY, Sealer
from bpc_worker.keys.keyring import DEVELOPMENT_DISCLOSURE_KEY, Keyring, development_signer
from bpc_worker.keys.signers import LocalSigner
from bpc_worker.observability.tracing import NO_TRACER, Tracer
from bpc_worker.postgres.dsn import Dsn
from bpc_worker.processes.confinement import Account, AccountError, account_of
from bpc_worker.registry import Registry

_DUTIES = ("claims", "settles", "renewals", "reaper", "upkeep")


def dsn(settings: Settings, url: str, *, engine: bool = False, suppress_insert_notify: bool = False) -> Dsn:
    lease = settings.jobs.lease_seconds
    return Dsn(
        url=url,
        application_name=f"bpc-worker {settings.worker.id}",
        connect_timeout=call_timeout(settings),
        statement_timeout=settings.database.statement_timeout_seconds,
        lock_timeout=min(1.0, call_timeout(settings) / 2),  # a locked row is told from a silent server
        idle_in_transaction_timeout=lease / 2,
        prepared_statements=settings.database.prepared_statements,
        engine=engine,
        suppress_insert_notify=suppress_insert_notify,
    )


def call_timeout(settings: Settings) -> float:
    """How long the engine waits for one answer: several tries must fit into a lease."""
    return max(2.0, min(5.0, settings.jobs.lease_seconds / 6))


class ConnectionBudget(NamedTuple):
    usual: int
    most: int  # while the server does not answer


def connection_budget(settings: Settings) -> ConnectionBudget:
    """The connections of one worker: one for each duty, and those that its handlers share.

    Each may leave one statement unanswered behind and go on over another connection; one more asks whether
    the server is still at work on them.
    """
    duties = [*_DUTIES, *_further_duties(settings)]
    usual = len(duties) + settings.database.handler_connections
    of_handlers = asks = 1
    return ConnectionBudget(usual, usual + len(duties) + of_handlers + asks)


def _further_duties(settings: Settings) -> Iterator[str]:
    if settings.schedules or any(settings.retention.days.values()) or signs_status_lists(settings):
        yield "schedules' jobs"
    if settings.rate_limits:
        yield "rate limits"
    if listens(settings):
        yield "bell"
    if settings.producer.scan_dir is not None:
        yield from ("inbox", "inbox's jobs", "inbox's builds")


def listens(settings: Settings) -> bool:
    """LISTEN is a state of the session: through a pooler, without a way past it, workers poll."""
    database = settings.database
    return settings.notify.enabled and (database.prepared_statements or database.direct_url is not None)


def queue_settings(settings: Settings, registry: Registry) -> QueueSettings:
    return QueueSettings(
        owner=settings.worker.id,
        types=tuple(sorted(registry)),
        queues=settings.worker.queues,
        lease_seconds=settings.jobs.lease_seconds,
        call_timeout=call_timeout(settings),
        backoff=backoff(settings),
        max_attempts_default=settings.jobs.max_attempts_default,
        max_queued=settings.jobs.max_queued,
        ring_start=nonce(),
        type_defaults={
            name: TypeDefaults(priority=spec.priority, max_attempts=spec.max_attempts)
            for name, spec in registry.items()
        },
    )


def backoff(settings: Settings) -> Backoff:
    return Backoff(base=settings.jobs.backoff_base, cap=settings.jobs.backoff_max)


def breaker_rules(settings: Settings) -> BreakerRules:
    breaker = settings.circuit_breaker
    return BreakerRules(
        failure_threshold=breaker.failure_threshold,
        window=breaker.window,
        cooldown_period=breaker.cooldown_period,
        min_samples=breaker.min_samples,
        half_open_probes=breaker.half_open_probes,
    )


def sample_rules(settings: Settings) -> SampleRules:
    factors = dict(settings.reaper.sla_factor)
    return SampleRules(
        interval_seconds=settings.reaper.sample_interval,
        warn_depth=settings.jobs.warn_depth,
        sla_factor_of_others=factors.pop(OTHERS),
        sla_factors=factors,
    )


def broker(settings: Settings, url: str) -> Broker:
    return Broker(url=url, exchange=settings.queue.exchange, routing_key=settings.queue.routing_key)


def policy(settings: Settings) -> Policy:
    folders: dict[str, tuple[Path, ...]] = {}
    for each in settings.ingest.folders:
        tenant, _, path = ("", "", each) if each.startswith("/") else each.partition("=")
        folders[tenant] = (*folders.get(tenant, ()), Path(path))
    return Policy(
        stand_in_host=settings.env != "prod",
        ingest_folders=folders.pop("", ()),
        ingest_folders_of=folders,
        document_bytes=settings.limits.document_bytes,
        payload_bytes=settings.limits.payload_bytes,
        proof_bytes=settings.limits.proof_bytes,
        receipt_bytes=settings.limits.receipt_bytes,
        export_folder=None if settings.export.folder is None else Path(settings.export.folder),
        webhook_disable_after=settings.webhook.disable_after,
        retention_days=settings.retention.days,
    )


def child_account(settings: Settings) -> Account | None:
    """Raises AccountError where there is none of that name, or no right to become it."""
    name = settings.worker.child_account
    if name is None:
        return None
    if os.geteuid() != 0:
        raise AccountError("only root can start children under another account, and this process is not root")
    return account_of(name)


def commands(settings: Settings) -> dict[str, Command]:
    account = child_account(settings)
    return {name: replace(each, account=account) for name, each in settings.commands.items()}


def egress_rules(settings: Settings) -> EgressRules:
    webhook = settings.webhook
    return EgressRules(
        ports=frozenset(webhook.ports),
        plain_http=settings.env == "dev",
        allowed_private_networks=tuple(ip_network(cidr) for cidr in webhook.allow_cidrs),
    )


def poster(settings: Settings) -> Poster:
    return Poster(egress_rules(settings), ca_file=settings.webhook.ca_file)


def keyring(settings: Settings) -> Keyring:
    """The configured keys; in development, for those that are not, keys that everybody knows."""
    signer, disclosure_key = _signer(settings), settings.disclosure.key
    if settings.env != "prod":
        signer = signer or development_signer()
        disclosure_key = disclosure_key or DEVELOPMENT_DISCLOSURE_KEY
    former = [LocalSigner(key_id, seed) for key_id, seed in settings.signing.former_keys.items()]
    return Keyring(signer, disclosure_key, former, sealer(settings), _status_signer(settings))


def sealer(settings: Settings) -> Sealer:
    """Who seals and opens the secrets of webhooks; in production nobody, unless there is a key."""
    keys = tuple(settings.webhook.sealing_keys.items())
    return Sealer(keys or (() if settings.env == "prod" else (DEVELOPMENT_SEALING_KEY,)))


def _signer(settings: Settings) -> Signer | None:
    signing = settings.signing
    if signing.key_id is None:
        return None
    if signing.command is not None and signing.public_key is not None:
        return CommandSigner(signing.key_id, b64decode(signing.public_key), signing.command)
    return None if signing.private_key is None else LocalSigner(signing.key_id, signing.private_key)


def signs_status_lists(settings: Settings) -> bool:
    return _status_signer(settings) is not None


def _status_signer(settings: Settings) -> Signer | None:
    key_id, seed = settings.signing.status_key_id, settings.signing.status_private_key
    return None if key_id is None or seed is None else LocalSigner(key_id, seed)


def tracer(settings: Settings) -> Tracer:
    if not settings.tracing.enabled or settings.tracing.endpoint is None:
        return NO_TRACER
    from bpc_worker.observability.otel import to_collector

    return to_collector(settings.tracing.endpoint, worker_id=settings.worker.id)
