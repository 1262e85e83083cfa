"""What a publisher wrote does not reach the client library."""

import asyncio
import struct

import pamqp.frame
import pytest
from aiormq.connection import FrameReceiver
from aiormq.exceptions import AMQPConnectionError
from hypothesis import given
from hypothesis import strategies as st
from pamqp import commands
from pamqp.body import ContentBody
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat

from bpc_worker.amqp.wire import BlindReader, strip_message

CHANNEL = 3
ALL_PROPERTIES = 0xFFFC
LAST = pamqp.frame.marshal(commands.Channel.CloseOk(), CHANNEL)


def deliver(routing_key: str = "jobs.trigger") -> bytes:
    frame = commands.Basic.Deliver(
        consumer_tag="ctag", delivery_tag=7, redelivered=False, exchange="bpc", routing_key=routing_key
    )
    return pamqp.frame.marshal(frame, CHANNEL)


def raw(kind: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, CHANNEL, len(payload)) + payload + b"\xce"


def content_header(flags: int, properties: bytes, body_size: int) -> bytes:
    return raw(2, struct.pack(">HHQH", 60, 0, body_size, flags) + properties)


async def frames(wire: bytes, *, end: bytes = LAST) -> list[object]:
    """What the library makes of it."""
    source = asyncio.StreamReader()
    source.feed_data(wire + end)
    source.feed_eof()
    receiver = FrameReceiver(BlindReader(source))
    found: list[object] = []
    while not found or not isinstance(found[-1], commands.Channel.CloseOk):
        _, _, frame = await receiver.get_frame()
        found.append(frame)
    return found[:-1]


async def test_a_message_arrives_without_properties_and_body() -> None:
    properties = commands.Basic.Properties(content_type="text/plain", headers={"a": "b"}, message_id="1")
    header = ContentHeader(body_size=300, properties=properties)
    wire = deliver() + pamqp.frame.marshal(header, CHANNEL) + raw(3, b"x" * 200) + raw(3, b"y" * 100)
    [delivered, seen] = await frames(wire)

    assert isinstance(delivered, commands.Basic.Deliver)
    assert (delivered.consumer_tag, delivered.delivery_tag, delivered.exchange) == ("ctag", 7, "bpc")
    assert isinstance(seen, ContentHeader)
    assert seen.body_size == 0
    assert seen.properties == commands.Basic.Properties()


@pytest.mark.parametrize(
    ("flags", "properties"),
    [
        (1 << 6, struct.pack(">Q", 2**63 - 1)),
        (1 << 15, b"\x02\xff\xfe"),
        (1 << 13, struct.pack(">I", 8) + b"\x02\xff\xfeS" + bytes(4)),
        (ALL_PROPERTIES, b""),
        (ALL_PROPERTIES | 1, b"\xff" * 100),
    ],
    ids=["date", "text", "header name", "cut off", "more flags"],
)
async def test_properties_that_cannot_be_decoded_are_not(flags: int, properties: bytes) -> None:
    [_, header] = await frames(deliver() + content_header(flags, properties, 2) + raw(3, b"{}"))

    assert isinstance(header, ContentHeader)


async def test_a_routing_key_that_is_not_utf_8_is_not_decoded() -> None:
    hostile = deliver("§" * 100).replace("§".encode(), b"\xff\xff")
    [delivered] = await frames(hostile)

    assert isinstance(delivered, commands.Basic.Deliver)
    assert delivered.delivery_tag == 7
    assert delivered.routing_key == "?" * 200


async def test_everything_else_passes_unchanged() -> None:
    others = [
        pamqp.frame.marshal(commands.Queue.DeclareOk("name", 1, 2), CHANNEL),
        pamqp.frame.marshal(commands.Channel.Close(404, "NOT_FOUND", 60, 40), CHANNEL),
        pamqp.frame.marshal(Heartbeat(), 0),
    ]
    [declared, closed, beat] = await frames(b"".join(others))

    assert isinstance(declared, commands.Queue.DeclareOk)
    assert (declared.queue, declared.consumer_count) == ("name", 2)
    assert isinstance(closed, commands.Channel.Close)
    assert closed.reply_text == "NOT_FOUND"
    assert isinstance(beat, Heartbeat)


@pytest.mark.parametrize("missing", [1, 5, 30])
async def test_a_wire_that_is_cut_within_a_frame_is_a_lost_connection(missing: int) -> None:
    with pytest.raises(AMQPConnectionError):
        await frames(deliver()[:-missing], end=b"")


async def test_whoever_does_not_speak_amqp_is_told_apart() -> None:
    with pytest.raises(AMQPConnectionError, match="does not speak AMQP"):
        await frames(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@given(properties=st.binary(max_size=200), flags=st.integers(0, 0xFFFF), size=st.integers(0, 2**63))
def test_a_blinded_header_keeps_its_length_and_says_nothing(properties: bytes, flags: int, size: int) -> None:
    payload = struct.pack(">HHQH", 60, 0, size, flags) + properties
    blinded = strip_message(2, payload)

    assert blinded is not None
    assert len(blinded) == len(payload)
    assert pamqp.frame.unmarshal(raw(2, blinded))[2].properties == commands.Basic.Properties()  # type: ignore[union-attr]


def test_a_body_is_gone() -> None:
    assert strip_message(3, ContentBody(b"secret").marshal()) is None


async def test_a_frame_of_any_size_is_not_waited_for() -> None:
    wire = asyncio.StreamReader()
    wire.feed_data(struct.pack(">BHI", 3, CHANNEL, 0xFFFFFFFF) + bytes(1000))
    with pytest.raises(ConnectionError, match="frame of 4294967295 bytes"):
        await asyncio.wait_for(BlindReader(wire).readexactly(7), 1)
