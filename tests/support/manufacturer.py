"""A manufacturer's systems, which know nothing but the API, and an invented battery of a car."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from bpc_worker.demo.companies import examples, set_up
from bpc_worker.files.rules import read_rules
from bpc_worker.pipeline.builds.folder import read_folder
from tests.support.database import Database
from tests.support.pipeline import Pipeline, keyed, publish
from tests.support.serving import Answer, Serving, token

EV = Path(str(examples() / "ev"))
SCOPES = ("read", "values", "write", "activate", "webhooks")
NDJSON = "application/x-ndjson"


def town(db: Database) -> Pipeline:
    """A tenant with the shipped rules, and who makes the battery; all else goes over the API."""
    path = keyed(db)
    publish(path, "eu_battery", read_rules("eu_battery"))
    folder = read_folder(EV, document_bytes=2**20)
    path.call(lambda session: set_up(session, "ev", folder.recipe))
    return path


@dataclass(frozen=True)
class Manufacturer:
    serving: Serving
    token: str

    @staticmethod
    def of(db: Database, serving: Serving, *scopes: str, tenant: str = "acme") -> "Manufacturer":
        return Manufacturer(serving, token(db, *(scopes or SCOPES), tenant=str(db.tenant(tenant))))

    def at(self, serving: Serving) -> "Manufacturer":
        """The same, at another process."""
        return replace(self, serving=serving)

    def get(self, path: str, **headers: str) -> Answer:
        return self.serving.ask("api", path, token=self.token, headers=_names(headers), timeout=90)

    def post(
        self, path: str, value: object = None, *, key: str | None = None, wait: int | None = None,
        media_type: str = "application/json", **headers: str,
    ) -> Answer:  # fmt: skip
        """`value`: bytes as they are, lines of NDJSON, or JSON."""
        sent = {"Content-Type": media_type, **_names(headers)}
        sent |= {} if key is None else {"Idempotency-Key": key}
        sent |= {} if wait is None else {"Prefer": f"wait={wait}"}
        body = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.serving.ask(
            "api", path, method="POST", body=body, headers=sent, token=self.token, timeout=90
        )

    def lines(self, path: str, values: Sequence[object], **more: object) -> list[Any]:
        """Of an answer a line."""
        body = b"".join(json.dumps(each).encode() + b"\n" for each in values)
        answer = self.post(path, body, media_type=NDJSON, **more)  # type: ignore[arg-type]  # by name
        assert answer.status == 200, answer.text
        return [json.loads(line) for line in answer.body.splitlines()]

    def sent(
        self, content: bytes, entry: Mapping[str, str], *, key: str | None = None, wait: int | None = 30
    ) -> Answer:
        """A document of a passport.yaml, in one body."""
        headers = {"BPC_Kind": entry["kind"], "BPC_External_Ref": entry["file"]}
        if "number_format" in entry:
            headers["BPC_Number_Format"] = entry["number_format"]
        return self.post(
            "/v1/documents", content, media_type=entry["mime_type"], key=key, wait=wait, **headers
        )


def data(answer: Answer) -> Any:
    return json.loads(answer.body)


def _names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def recipe() -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load((EV / "passport.yaml").read_text())
    return found


def entries() -> list[dict[str, str]]:
    found = recipe()["documents"]
    assert isinstance(found, list)
    return found


def content(entry: Mapping[str, str]) -> bytes:
    return (EV / entry["file"]).read_bytes()


def manifest(serial: str, documents: Sequence[str]) -> dict[str, object]:
    """Of a battery whose documents were sent before."""
    law_date = str(recipe()["law_date"])
    listed = [{"document": each} for each in documents]
    return recipe() | {"passport": serial, "law_date": law_date, "documents": listed}


def multipart(parts: Sequence[tuple[str, str | None, str, bytes]]) -> tuple[str, bytes]:
    """Name, file, media type, content; the media type of the whole, and its bytes."""
    boundary = secrets.token_hex(12)
    body = b""
    for name, file, media_type, data in parts:
        named = "" if file is None else f'; filename="{file}"'
        head = f'Content-Disposition: form-data; name="{name}"{named}\r\nContent-Type: {media_type}\r\n\r\n'
        body += f"--{boundary}\r\n{head}".encode() + data + b"\r\n"
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()
