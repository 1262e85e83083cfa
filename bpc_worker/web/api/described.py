"""A route of the API, with what its OpenAPI document says of it beyond what every route has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bpc_worker.web.layer.routes import Route

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
MULTIPART: Final = "multipart/form-data"

KEY_HEADER: Final = "Idempotency-Key"
PREFER_HEADER: Final = "Prefer"


@dataclass(frozen=True, slots=True)
class ApiRoute(Route):
    """`says` is its summary. Every POST heeds an Idempotency-Key."""

    about: str = ""  # the group it is listed under
    statuses: tuple[int, ...] = (200,)  # of answers that are no problem
    takes: Mapping[str, Any] = field(
        default_factory=dict
    )  # type of a body by its media type, where `body` is bytes
    gives: Mapping[str, Any] = field(default_factory=dict)  # the same of answers, where they are not all JSON
    headers: Mapping[str, str] = field(default_factory=dict)  # of the request: what each is for
    waits: bool = False  # whether it heeds Prefer: wait
