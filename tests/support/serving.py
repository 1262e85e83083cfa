"""A real `bpc-worker serve` as a process, and what a test asks at its doors."""

import http.client
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from bpc_worker.domain.tokens import hash_of, new_secret
from tests.support.database import Database
from tests.support.worker import Worker, until

_LISTENER_OF = {"dpp": "api"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> dict[str, object]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


class Serving(Worker):
    """Also a worker in what a test sees of it: logs, probes, metrics, signals."""

    command: ClassVar[str] = "serve"

    def door_port(self, door: str) -> int:
        assert self.port  # it has started
        name = _LISTENER_OF.get(door, door)
        [line] = [each for each in self.lines if each.get("msg") == "door_open" and each["door"] == name]
        return int(str(line["port"]))

    def ask(
        self, door: str, path: str, *, method: str = "GET", body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None, token: str | None = None, timeout: float = 20,
    ) -> Answer:  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", self.door_port(door), timeout=timeout)
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def post(self, door: str, path: str, value: object, **more: object) -> Answer:
        """JSON."""
        headers = {"Content-Type": "application/json"}
        return self.ask(door, path, method="POST", body=json.dumps(value), headers=headers, **more)  # type: ignore[arg-type]  # by name


@contextmanager
def serving(url: str, *doors: str, **settings: object) -> Iterator[Serving]:
    """On free ports, ready."""
    ports = dict.fromkeys(("BPC_PUBLIC_PORT", "BPC_API_PORT", "BPC_DASHBOARD_PORT"), 0)
    arguments = ("--doors", ",".join(doors)) if doors else ()
    running = Serving(url, *arguments, **(ports | settings))
    try:
        until(lambda: running.get("/v1/health/ready")[0] == 200, within=30, what="ready")
        yield running
    finally:
        running.end()


def token(
    db: Database, *scopes: str, tenant: str | None = None, audience: str = "public", name: str = ""
) -> str:
    """One that is in force, straight into the database."""
    secret = new_secret()
    db.run(
        "INSERT INTO api_tokens (tenant_id, name, token_hash, scopes, audience, expires_at)"
        " VALUES (%s, %s, %s, %s, %s, now() + interval '1 hour')",
        [
            tenant,
            name or f"t-{secrets.token_hex(4)}",
            hash_of(secret),
            [*scopes],
            audience,
        ],
    )
    return secret
