"""The messages between worker and child: msgpack with a length in front. No pickle."""

import struct
from typing import BinaryIO

import msgspec

HEADER = struct.Struct(">I")
LARGEST_FRAME = 256 * 1024 * 1024


class ChildOrders(msgspec.Struct, frozen=True):
    """What a child is told when it is started."""

    worker: int  # its parent, with which it dies
    memory_mb: int
    cpu_seconds: int
    modules: tuple[str, ...]  # of the tasks, imported before it becomes somebody else
    account: tuple[int, int] | None


class ChildCall(msgspec.Struct, frozen=True):
    task: str  # "package.module:ATTRIBUTE" of a ChildTask
    body: bytes


class ChildFailure(msgspec.Struct, frozen=True):
    code: str
    message: str
    retryable: bool
    detail: dict[str, msgspec.Raw] | None = None


class ChildAnswer(msgspec.Struct, frozen=True):
    body: bytes | None = None
    error: ChildFailure | None = None
    last: bool = False  # it has grown, and is better replaced than asked again


def frame(message: msgspec.Struct) -> bytes:
    body = msgspec.msgpack.encode(message)
    return HEADER.pack(len(body)) + body


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next message, None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    body = stream.read(length)
    return body if len(body) == length else None
