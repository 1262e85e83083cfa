"""Does the broker answer, and may we do there what a listening worker does?"""

import asyncio
import shlex
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from bpc_worker import wiring
from bpc_worker.config.settings import Settings
from bpc_worker.doctor.findings import Finding, Level
from bpc_worker.observability.log import redact

_SLOWER = "workers poll meanwhile: jobs start up to a poll interval later, and none is lost"


def check(settings: Settings) -> Iterator[Finding]:
    from bpc_worker.amqp.check import failed_step

    url = settings.queue.url
    if not settings.queue.enabled or url is None:
        return
    failed = asyncio.run(failed_step(wiring.broker(settings, url)))
    if failed is None:
        return
    parts = urlsplit(url)
    login, vhost = unquote(parts.username or "guest"), unquote(parts.path.removeprefix("/")) or "/"
    exchange, said = settings.queue.exchange, redact(failed.error)
    permit = f"rabbitmqctl set_permissions -p {shlex.quote(vhost)} {shlex.quote(login)} '.*' '.*' '.*'"
    match failed.step:
        case "connect":
            what = f"no broker at {parts.hostname}:{parts.port or 5672}: {said}"
            fix = "rabbitmqctl status || rabbitmq-server -detached  # or correct BPC_QUEUE_URL"
            yield _finding("unreachable", what, fix)
        case "log in":
            fix = f"rabbitmqctl change_password {shlex.quote(login)}  # or add_user; asks for it\n{permit}"
            yield _finding("login", f"the broker refuses {login}: {said}", fix)
        case "find the exchange" if "NOT_FOUND" in said:
            fix = "bpc-worker run  # a worker makes it when it starts"
            yield _finding("no_exchange", f"there is no exchange {exchange!r}", fix, "note")
        case "declare the exchange" if "PRECONDITION" in said or "inequivalent" in said:
            what = f"exchange {exchange!r} is not a durable topic: {said}"
            fix = "export BPC_QUEUE_EXCHANGE=bpc.jobs  # for all; or leave it: another type serves, too"
            yield _finding("exchange_type", what, fix, "note")
        case _:
            what = f"{login} may not {failed.step} ({exchange!r}, in {vhost!r}): {said}"
            yield _finding("permissions", what, permit)


def _finding(check: str, what: str, fix: str, level: Level = "wrong") -> Finding:
    return Finding(check=f"broker.{check}", what=what, why=_SLOWER, fix=fix, paste="shell", level=level)
