"""What the settings must be to one another, and the values that follow from others."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import quote

from bpc_worker.config import unencrypted
from bpc_worker.config.settings import KEYS
from bpc_worker.config.sources import Draft
from bpc_worker.config.tenant_keys import TenantKey
from bpc_worker.core.base.build_id import COMPILER_BUILD_ID

_PARTS = [key.name for key in KEYS if key.part]
_SEED, _COMMAND, _PUBLIC, _NAME = (
    "signing.private_key",
    "signing.command",
    "signing.public_key",
    "signing.key_id",
)
_FORMER = "signing.former_keys"
_OF_TENANTS = "signing.keys"
_STATUS_SEED, _STATUS_NAME = "signing.status_private_key", "signing.status_key_id"
_SEALING = "webhook.sealing_keys"


def validate(draft: Draft) -> None:
    """Fill in what follows from other values, and add every contradiction to the problems."""
    _complete_database(draft)
    _complete_queue(draft)
    _check_lease(draft)
    _check_depth(draft)
    _check_tracing(draft)
    _check_keys(draft)
    _check_webhooks(draft)
    _check_build_id(draft)
    unencrypted.check(draft)


def _complete_database(draft: Draft) -> None:
    """Make one URL of the parts, and refuse what has none where it needs one."""
    given = [name for name in _PARTS if draft.has(name)]
    if given and draft.has("database.url"):
        both = f"{draft.origin('database.url')} and {draft.origin(*given)}"
        draft.problems.append(f"{both}: give either the URL or its parts")
    elif given:
        _compose(draft, given)
    elif draft.values["env"] == "prod" and not draft.has("database.url"):
        draft.problems.append(
            "database.url: the embedded PostgreSQL is for development, and env is prod; "
            "set BPC_DATABASE_URL, or BPC_DB_HOST, BPC_DB_USER and BPC_DB_NAME"
        )


def _compose(draft: Draft, given: list[str]) -> None:
    missing = [part for part in ("host", "user", "name") if f"database.{part}" not in given]
    if missing:
        needed = ", ".join(f"database.{part} (BPC_DB_{part.upper()})" for part in missing)
        draft.problems.append(f"{draft.origin(*given)}: also needs {needed}")
    else:
        draft.values["database.url"] = _database_url(draft.values)
        draft.sources["database.url"] = ", ".join(draft.sources[name] for name in given)


def _database_url(values: Mapping[str, object]) -> str:
    host, port, user, password, name, sslmode = (values[name] for name in _PARTS)
    # A colon means IPv6 here; a socket's folder goes into the host's place percent-encoded.
    place = f"[{host}]" if ":" in str(host) else _quoted(host)
    place += f":{port}" if port else ""
    login = _quoted(user) + (f":{_quoted(password)}" if password else "")
    options = f"?sslmode={sslmode}" if sslmode else ""
    return f"postgresql://{login}@{place}/{_quoted(name)}{options}"


def _quoted(part: object) -> str:
    return quote(str(part), safe="")


def _complete_queue(draft: Draft) -> None:
    has_url = draft.has("queue.url")
    if draft.values["queue.enabled"] is None:
        draft.values["queue.enabled"] = has_url
    elif draft.values["queue.enabled"] and not has_url:
        draft.complain("queue.enabled", "needs queue.url (BPC_QUEUE_URL)")
    if draft.values["notify.enabled"] is None:
        draft.values["notify.enabled"] = not draft.values["queue.enabled"]


def _check_lease(draft: Draft) -> None:
    """Two renewals must fit into a lease, so that one may fail."""
    lease, renew = "jobs.lease_seconds", "jobs.lease_renew_seconds"
    match draft.values[lease], draft.values[renew]:
        case (int() | float() as lasts, int() | float() as pause) if pause > lasts / 2:
            if not draft.failed & {lease, renew}:
                draft.complain(
                    renew, f"{pause:.15g} is more than half of {draft.origin(lease)}: {lasts:.15g}"
                )


def _check_depth(draft: Draft) -> None:
    """A warning that comes after the refusal warns of nothing."""
    most, warn = "jobs.max_queued", "jobs.warn_depth"
    match draft.values[most], draft.values[warn]:
        case (int() as limit, int() as depth) if 0 < limit <= depth:
            if not draft.failed & {most, warn}:
                text = f"{depth} is not below {draft.origin(most)}: {limit}"
                draft.complain(warn, f"{text}; warn before jobs are refused, or set it to 0")


def _check_tracing(draft: Draft) -> None:
    name = "tracing.enabled"
    if draft.values[name] and not draft.has("tracing.endpoint"):
        draft.complain(name, "also needs tracing.endpoint (BPC_TRACING_ENDPOINT)")
    if draft.values[name] and not _can_trace():
        draft.complain(name, "OpenTelemetry is missing; pip install 'bpc-worker[tracing]'")


def _can_trace() -> bool:
    """Whether the extra is installed."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # not even its parent
        return False


def _check_keys(draft: Draft) -> None:
    """A key and its name go together; production has none that everybody knows."""
    if not draft.failed & {_SEED, _COMMAND, _PUBLIC, _NAME}:
        _check_signer(draft)
    if _PUBLIC not in draft.failed and draft.has(_PUBLIC):
        _check_point(draft)
    if not draft.failed & {_STATUS_SEED, _STATUS_NAME}:
        _check_status_key(draft)
    name, former = draft.values[_NAME], draft.values[_FORMER]
    if isinstance(former, dict) and name in former:
        draft.complain(_FORMER, f"{name} is the key that signs now; a key id stands for one key")
    if _OF_TENANTS not in draft.failed:
        _check_tenant_keys(draft)
    if draft.values["env"] == "prod":
        _refuse_development_keys(draft)


def _check_signer(draft: Draft) -> None:
    if draft.has(_SEED) and draft.has(_COMMAND):
        both = f"{draft.origin(_SEED)} and {draft.origin(_COMMAND)}"
        draft.problems.append(f"{both}: one of them signs; give only that one")
        return
    holder = _COMMAND if draft.has(_COMMAND) else _SEED
    if draft.has(holder) != draft.has(_NAME):
        have, lacks = (holder, _NAME) if draft.has(holder) else (_NAME, _SEED)
        draft.complain(have, f"also needs {lacks}; `bpc-worker keys generate` tells both")
    if draft.has(_COMMAND) != draft.has(_PUBLIC):
        have, lacks = (_COMMAND, _PUBLIC) if draft.has(_COMMAND) else (_PUBLIC, _COMMAND)
        draft.complain(have, f"also needs {lacks}; docs/keys.md tells both")


def _check_tenant_keys(draft: Draft) -> None:
    """Of each tenant its own: that of the installation is one tenant's too, that of status lists nobody's."""
    from bpc_worker.keys.keyring import DEVELOPMENT_SEED

    taken: dict[object, str] = {draft.values[name]: name for name in (_SEED, _STATUS_SEED) if draft.has(name)}
    if draft.values["env"] == "prod":
        taken[DEVELOPMENT_SEED] = "the development key, which everybody knows"
    found = draft.values[_OF_TENANTS]
    for key in found if isinstance(found, tuple) else ():
        if isinstance(key, TenantKey) and key.seed in taken:
            draft.complain(_OF_TENANTS, f"the key of {key.tenant} is also {taken[key.seed]}; give it another")


def _check_status_key(draft: Draft) -> None:
    """Lists are signed where many hands are, passports are not: neither key does the other's work."""
    if draft.has(_STATUS_SEED) != draft.has(_STATUS_NAME):
        pair = (_STATUS_SEED, _STATUS_NAME)
        have, lacks = pair if draft.has(_STATUS_SEED) else pair[::-1]
        draft.complain(have, f"also needs {lacks}; `bpc-worker keys generate` tells both")
    for ours, of_passports in ((_STATUS_SEED, _SEED), (_STATUS_NAME, _NAME)):
        if draft.has(ours) and draft.values[ours] == draft.values[of_passports]:
            draft.complain(ours, f"is also {of_passports}; status lists have a key of their own")


def _check_point(draft: Draft) -> None:
    from bpc_worker.core.base.signing import SignatureError, check_public_key

    try:
        check_public_key(b64decode(str(draft.values[_PUBLIC])))
    except SignatureError as error:
        draft.complain(_PUBLIC, f"{error}; give the key that the command signs with")


def _refuse_development_keys(draft: Draft) -> None:
    from bpc_worker.keys import keyring
    from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY

    public = b64encode(keyring.development_signer().public_key).decode("ascii")
    known: dict[str, set[object]] = {
        _SEED: {keyring.DEVELOPMENT_SEED},
        _STATUS_SEED: {keyring.DEVELOPMENT_SEED},
        _NAME: {keyring.DEVELOPMENT_KEY_ID},
        "disclosure.key": {keyring.DEVELOPMENT_DISCLOSURE_KEY},
        _PUBLIC: {public},
        _FORMER: {keyring.DEVELOPMENT_SEED, keyring.DEVELOPMENT_KEY_ID},
        _SEALING: {DEVELOPMENT_SEALING_KEY[1]},
    }
    for name, keys in known.items():
        value = draft.values[name]
        if keys & ({*value, *value.values()} if isinstance(value, dict) else {value}):
            draft.complain(name, "the development key is known to everybody, and env is prod; choose another")


def _check_webhooks(draft: Draft) -> None:
    """What is not public may be called in development and in tests, else for a reason."""
    name, reason = "webhook.allow_cidrs", "webhook.allow_cidrs_reason"
    if draft.values["env"] == "prod" and draft.values[name] and not draft.has(reason):
        draft.complain(
            name,
            "webhooks go to public addresses only, and env is prod; remove it, "
            f"or say in {reason} (BPC_WEBHOOK_ALLOW_CIDRS_REASON) why they may go there",
        )
    _check_ca_file(draft)


def _check_ca_file(draft: Draft) -> None:
    name = "webhook.ca_file"
    if name in draft.failed or not draft.has(name):
        return
    import ssl

    try:
        ssl.create_default_context(cafile=str(draft.values[name]))
    except OSError as error:  # ssl.SSLError is one
        why = "no certificates in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        draft.complain(name, f"{draft.values[name]} cannot be used: {why}")


def _check_build_id(draft: Draft) -> None:
    name = "compiler_build_id"
    wanted = draft.values[name]
    if name not in draft.failed and wanted != COMPILER_BUILD_ID:
        draft.complain(name, f"{wanted} is unknown here; this release compiles as {COMPILER_BUILD_ID}")
