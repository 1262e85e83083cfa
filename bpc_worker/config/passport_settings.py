"""The sections of the settings that passports need, from the inbox to the webhooks."""

from collections.abc import Mapping
from typing import Annotated

from bpc_worker.config import kinds, maps
from bpc_worker.config.keys import section, setting
from bpc_worker.config.tenant_keys import TenantKey, tenant_keys
from bpc_worker.handler_api import Command

_DAY = 86400

# What is being written, or was left by a program; names that begin with a dot are left alone anyway.
_UNFINISHED = (
    *("*.tmp", "*.part", "*.partial", "*.crdownload", "*.filepart", "*.swp", "*~"),
    *("Thumbs.db", "desktop.ini"),
)


@section
class Producer:
    scan_dir: Annotated[
        str | None, setting(kinds.folder, "the inbox: folder that documents and builds are taken from")
    ] = None
    include_globs: Annotated[
        tuple[str, ...], setting(kinds.patterns, "files to take; with a / in it: of the whole place")
    ] = ("*",)
    exclude_globs: Annotated[tuple[str, ...], setting(kinds.patterns, "files and folders to leave alone")] = (
        _UNFINISHED
    )
    default_priority: Annotated[str, setting(kinds.priority, "priority of the jobs it makes")] = "normal"
    high_priority_exts: Annotated[
        tuple[str, ...], setting(kinds.endings, "endings of files whose jobs have priority high")
    ] = ()
    rate_limit_per_sec: Annotated[
        float, setting(kinds.number(0, 1_000_000), "files a second, 0: no limit")
    ] = 0
    rate_limit_key: Annotated[
        str, setting(kinds.text(200), "producers with the same key share that rate")
    ] = "producer"
    scan_interval_seconds: Annotated[
        float, setting(kinds.number(0.05, 3600), "pause between two looks at the inbox")
    ] = 5


@section
class Signing:
    private_key: Annotated[
        bytes | None,
        setting(
            kinds.secret_bytes(32, 32),
            "the Ed25519 seed that passports are signed with; "
            "without one, dev uses a key that everybody knows",
            env="BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64",
            secret=True,
        ),
    ] = None
    key_id: Annotated[str | None, setting(kinds.text(200), "name of that key in the registry")] = None
    command: Annotated[
        Command | None,
        setting(
            maps.command,
            "a program that signs, where the private key is in an HSM or KMS; see docs/keys.md",
            secret=True,
        ),
    ] = None
    public_key: Annotated[
        str | None, setting(kinds.public_key, "public half of the key that signing.command signs with")
    ] = None
    status_private_key: Annotated[
        bytes | None,
        setting(
            kinds.secret_bytes(32, 32),
            "the Ed25519 seed that status lists are signed with, a key for nothing else",
            secret=True,
        ),
    ] = None
    status_key_id: Annotated[str | None, setting(kinds.text(200), "name of that key in the registry")] = None
    keys: Annotated[
        tuple[TenantKey, ...],
        setting(
            tenant_keys,
            "a signing key for each tenant, by its id or name; in prod every tenant but one needs its own",
            secret=True,
        ),
    ] = ()
    former_keys: Annotated[
        Mapping[str, bytes],
        setting(
            maps.seeds,
            "key ids and seeds that only sign what names them: what was compiled before a rotation",
            secret=True,
        ),
    ] = {}


@section
class Disclosure:
    key: Annotated[
        bytes | None,
        setting(
            kinds.secret_bytes(32, 1024),
            "what the salts of withheld fields are made from; the same for all workers, for ever",
            secret=True,
        ),
    ] = None


@section
class Ingest:
    folders: Annotated[
        tuple[str, ...], setting(kinds.own_folders, "folders INGEST_DOCUMENT may read files from")
    ] = ()


@section
class Export:
    folder: Annotated[
        str | None,
        setting(kinds.folder, "where EXPORT_PASSPORT writes files, for each tenant in a folder below"),
    ] = None


@section
class Limits:
    document_bytes: Annotated[int, setting(kinds.whole(1, 1_073_741_824), "largest document")] = (
        20 * 1024 * 1024
    )
    payload_bytes: Annotated[int, setting(kinds.whole(1024, 16_777_216), "largest payload of a passport")] = (
        131_072
    )
    proof_bytes: Annotated[int, setting(kinds.whole(1024, 67_108_864), "largest proof of a passport")] = (
        262_144
    )
    receipt_bytes: Annotated[int, setting(kinds.whole(1024, 1_048_576), "largest signed receipt")] = 16_384
    identifier_characters: Annotated[
        int, setting(kinds.whole(30, 200), "longest unique identifier; the EU registry takes 50 characters")
    ] = 50


@section
class Retention:
    days: Annotated[
        Mapping[str, int],
        setting(
            maps.retention,
            "days after which RETENTION_SWEEP removes what nothing rests on, per kind; 0: kept",
        ),
    ] = maps.KEPT


@section
class Webhook:
    # The first key seals, all of them open.
    sealing_keys: Annotated[
        Mapping[str, bytes],
        setting(
            maps.sealing_keys,
            "what the secrets of webhooks are sealed with; without one, dev uses a key that everybody knows",
            secret=True,
        ),
    ] = {}
    endpoint_concurrency: Annotated[
        int, setting(kinds.whole(1, 1000), "deliveries to one endpoint at a time, per worker")
    ] = 4
    disable_after: Annotated[
        float,
        setting(
            kinds.duration(1, 365 * _DAY),
            "seconds of nothing but failures after which an endpoint is switched off",
        ),
    ] = 5 * _DAY
    ports: Annotated[tuple[int, ...], setting(kinds.ports, "ports that webhooks may be sent to")] = (443,)
    allow_cidrs: Annotated[
        tuple[str, ...],
        setting(kinds.cidrs, "networks that are not public and are allowed; in prod for a reason only"),
    ] = ()
    allow_cidrs_reason: Annotated[
        str | None, setting(kinds.text(500), "why webhooks may go into webhook.allow_cidrs in prod")
    ] = None
    ca_file: Annotated[
        str | None, setting(kinds.file, "certificate authorities (PEM) to trust beside the system's")
    ] = None


@section
class CircuitBreaker:
    failure_threshold: Annotated[
        float, setting(kinds.number(0, 1, above=True), "share of failures that opens a webhook's breaker")
    ] = 0.5
    window: Annotated[float, setting(kinds.duration(1, 3600), "seconds that the share is taken over")] = 60
    cooldown_period: Annotated[float, setting(kinds.duration(1, _DAY), "seconds that it stays open")] = 30
    min_samples: Annotated[int, setting(kinds.whole(1, 10_000), "calls without which it never opens")] = 10
    half_open_probes: Annotated[int, setting(kinds.whole(1, 100), "calls let through after the cooldown")] = 1
