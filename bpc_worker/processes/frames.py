"""The messages between worker, zygote and child: msgpack, for a child with a length in front. No pickle."""

import struct
from typing import BinaryIO

import msgspec

HEADER = struct.Struct(">I")
LARGEST_FRAME = 256 * 1024 * 1024


class ZygoteOrders(msgspec.Struct, frozen=True):
    """What a zygote is told when it is started: all that its children have in common."""

    worker: int  # its parent, with which it dies
    memory_mb: int
    cpu_seconds: int
    tasks: tuple[str, ...]  # whose modules it imports before it forks
    account: tuple[int, int] | None


class Fork(msgspec.Struct, frozen=True, tag=True):
    """To the zygote, with two descriptors: where the child reads its calls, where it writes its answers."""

    child: int  # the worker's number for it


class End(msgspec.Struct, frozen=True, tag=True):
    """To the zygote: kill that child, and whatever is in its session."""

    child: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """From the zygote: it has imported what it was told to."""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """From the zygote: that child is gone."""

    child: int
    how: str


TO_ZYGOTE: msgspec.msgpack.Decoder[Fork | End] = msgspec.msgpack.Decoder(Fork | End)
FROM_ZYGOTE: msgspec.msgpack.Decoder[Ready | Ended] = msgspec.msgpack.Decoder(Ready | Ended)


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
