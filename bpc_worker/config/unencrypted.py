"""What production does not do in the open: plain TCP to other machines, keys where others can read them."""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from bpc_worker.config.settings import KEYS
from bpc_worker.config.sources import Draft

_DATABASES = (
    *("database.url", "database.direct_url", "database.migrate_url", "database.read_url"),
    *("public.database_url", "web.database_url"),
)
_ENCRYPTED = {"require", "verify-ca", "verify-full"}
_SIGNING_AND_SEALING = (
    "signing.private_key",
    "signing.former_keys",
    "disclosure.key",
    "webhook.sealing_keys",
)
_VARIABLES = {key.name: key.env for key in KEYS}


def check(draft: Draft) -> None:
    if draft.values["env"] != "prod":
        return
    bad = any(name.startswith("database.") for name in draft.failed)  # one problem is enough
    for name in () if bad else _DATABASES:
        if (url := _given(draft, name)) is not None and not draft.has("database.allow_plain"):
            for host in _plain_hosts(url):
                encrypt = "add sslmode=verify-full to the URL (or BPC_DB_SSLMODE)"
                _refuse(draft, name, host, encrypt, "database.allow_plain")
    if draft.values["queue.enabled"]:
        _check_scheme(draft, "queue.url", "amqp", "queue.allow_plain")
    if draft.values["tracing.enabled"]:
        _check_scheme(draft, "tracing.endpoint", "http", "tracing.allow_plain")
    draft.hints += _readable_by_others(draft)


def _given(draft: Draft, name: str) -> str | None:
    value = draft.values[name]
    return value if isinstance(value, str) and name not in draft.failed else None


def _check_scheme(draft: Draft, name: str, plain: str, reason: str) -> None:
    url = urlsplit(_given(draft, name) or "")
    if url.scheme == plain and not is_local(url.hostname or "") and not draft.has(reason):
        _refuse(draft, name, url.hostname or "", f"use {plain}s://", reason)


def _refuse(draft: Draft, name: str, host: str, encrypt: str, reason: str) -> None:
    draft.complain(
        name,
        f"{host} would be reached by plain TCP, and env is prod; {encrypt}, "
        f"or say in {reason} ({_VARIABLES[reason]}) why it may stay so",
    )


def _plain_hosts(url: str) -> Iterator[str]:
    """The first host beyond this machine to which libpq would speak in plain text, or might."""
    import psycopg

    from bpc_worker.postgres.errors import read_url

    try:
        given = read_url(url)
    except psycopg.OperationalError:
        return  # told by whoever connects
    usual = {each.keyword.decode(): (each.val or b"").decode() for each in psycopg.pq.Conninfo.get_defaults()}
    found = {
        **usual,
        **{name: str(value) for name, value in given.items()},
    }  # what PGHOST and others say, too
    if found["sslmode"] in _ENCRYPTED or found.get("gssencmode") == "require":
        return
    hosts = (found["hostaddr"] or found["host"]).split(",")
    yield from [host for host in hosts if not is_local(host)][:1]


def is_local(host: str) -> bool:
    """A socket's folder, or an address that leads back to this machine."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _readable_by_others(draft: Draft) -> Iterator[str]:
    for name in _SIGNING_AND_SEALING:
        for source in draft.sources[name].split(", "):
            variable = source.removeprefix("env:")
            if variable != source and not variable.endswith("_FILE"):
                yield (
                    f"{variable} holds a key, and whoever may look at the process or its manifest sees it; "
                    f"put it into a file of mode 0600, and its path into {variable}_FILE"
                )
    for variable, path in draft.open_files.items():
        yield f"{variable}: every account of this machine may read the secret; chmod o= {path}"
