"""What a route answers. HEAD, ETag, 304, Vary and the headers of security are the layer's business."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bpc_worker.web.layer.negotiation import entity_tag

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Page:
    """`templates/<template>`, filled with the record, which it knows as `page`."""

    template: str
    record: Any
    status: int = 200
    cache: str | None = None  # Cache-Control; None: as the door has it
    headers: Headers = field(default_factory=dict)
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Data:
    """JSON of a Struct, or of what msgspec can write."""

    value: Any
    status: int = 200
    media_type: str = "application/json"
    cache: str | None = None
    headers: Headers = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Bytes as they are. One that is kept keeps its tag, too."""

    body: bytes
    media_type: str
    status: int = 200
    cache: str | None = None
    headers: Headers = field(default_factory=dict)

    @cached_property
    def tag(self) -> str:
        return entity_tag(self.body)


@dataclass(frozen=True, slots=True)
class Stream:
    """Server-sent events, each as its bytes; `None` is a sign of life. It ends when the process does."""

    events: AsyncIterator[bytes | None]
    media_type: str = "text/event-stream"

    async def aclose(self) -> None:
        if isinstance(self.events, AsyncGenerator):
            await self.events.aclose()


@dataclass(frozen=True, slots=True)
class SeeOther:
    """To a page of this door, by its path without the base path."""

    path: str
    cookies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Empty:
    status: int = 204
    headers: Headers = field(default_factory=dict)
    cookies: tuple[str, ...] = ()


Answer = Page | Data | Raw | Stream | SeeOther | Empty
