"""What we use of libraries beyond what they promise: why they are capped, and what to look at in a new one.

Each line names a thing that a new release may change without a word.
"""

import importlib
import inspect
import re
import tomllib
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Used:
    """Something of a library, the names that we give its arguments by, and what for."""

    library: str
    module: str
    name: str
    why: str
    arguments: tuple[str, ...] = ()

    @property
    def found(self) -> object:
        return reduce(getattr, self.name.split("."), importlib.import_module(self.module))


USED = (
    Used("psycopg", "psycopg.errors", "_WaitTimeout", "a wait that lasts too long ends a connection"),
    Used(
        "psycopg",
        "psycopg.waiting",
        "wait_async",
        "waits until a moment",
        ("gen", "fileno", "interval", "timeout"),
    ),
    Used("psycopg", "psycopg", "AsyncConnection.wait", "every wait goes through ours", ("gen", "interval")),
    Used("psycopg", "psycopg.generators", "send", "statements in one trip", ("pgconn",)),
    Used("psycopg", "psycopg.generators", "fetch_many", "their answers", ("pgconn",)),
    Used("psycopg", "psycopg.errors", "error_from_result", "an answer that is an error", ("result",)),
    Used("psycopg", "psycopg.adapt", "Transformer.dump_sequence", "values as they are sent"),
    Used("psycopg", "psycopg.adapt", "Transformer.types", "with their types"),
    Used("psycopg", "psycopg.adapt", "Transformer.formats", "and formats"),
    Used("psycopg", "psycopg.adapt", "Transformer.set_pgresult", "rows of an answer"),
    Used("psycopg", "psycopg.adapt", "Transformer.load_rows", "rows of an answer"),
    Used("aio-pika", "aio_pika.connection", "make_url", "a URL with our heartbeat", ("url",)),
    Used("aio-pika", "aio_pika", "Connection", "made before it connects", ("url",)),
    Used("aio-pika", "aio_pika", "Connection.connect", "connects when it is told"),
    Used("aio-pika", "aio_pika", "Channel.get_underlay_channel", "the channel of aiormq below"),
    Used("aiormq", "aiormq", "TransportFactory.create", "a reader of our own", ("url",)),
    Used("aiormq", "aiormq.connection", "TCPTransportFactory.create", "as the library connects", ("url",)),
    Used("aiormq", "aiormq.connection", "TLSTransportFactory.create", "as the library connects", ("url",)),
    Used("aiormq", "aiormq.abc", "AbstractConnection.ready", "a broker that takes no messages", ()),
    Used("aiormq", "aiormq.exceptions", "ProbableAuthenticationError", "a login that is refused"),
    Used("qrcode", "qrcode.main", "QRCode.makeImpl", "fixed patterns alone", ("test", "mask_pattern")),
    Used("qrcode", "qrcode.main", "QRCode.map_data", "put out of the way", ("data", "mask_pattern")),
    Used("qrcode", "qrcode.util", "QRData", "a text's mode"),
    Used("qrcode", "qrcode.util", "create_data", "codewords", ("version", "error_correction", "data_list")),
    Used("qrcode", "qrcode.util", "length_in_bits", "the size of a text", ("mode", "version")),
    Used("qrcode", "qrcode.util", "BIT_LIMIT_TABLE", "the room of a code"),
)
# Set on each object when it is made, so only to be found there.
ON_OBJECTS = {
    ("aio-pika", "aio_pika.connection", "Connection", "self.kwargs"): "takes our transport factory",
    ("aio-pika", "aio_pika.connection", "Connection", "self.transport"): "is asked whether it may send",
    ("aiormq", "aiormq.channel", "Channel", "self.on_consumer_cancel_callbacks"): "tells of a lost consumer",
    ("qrcode", "qrcode.main", "QRCode", "self.data_cache"): "is left empty",
    ("qrcode", "qrcode.main", "QRCode", "self.modules"): "is read",
}


@pytest.mark.parametrize("used", USED, ids=lambda used: f"{used.module}.{used.name}")
def test_what_we_use_of_a_library_is_there(used: Used) -> None:
    told = f"{used.library} {version(used.library)}: {used.module}.{used.name} ({used.why})"
    try:
        found = used.found
    except (ImportError, AttributeError) as error:
        raise AssertionError(f"{told} is gone: change what uses it, or keep the former release") from error
    if used.arguments:
        assert callable(found)
        names = set(inspect.signature(found).parameters)
        assert names >= set(used.arguments), f"{told} takes {', '.join(sorted(names))} now"


@pytest.mark.parametrize(("library", "module", "owner", "attribute"), ON_OBJECTS)
def test_what_we_use_of_its_objects_is_there(library: str, module: str, owner: str, attribute: str) -> None:
    source = "".join(
        inspect.getsource(each) for each in _mro(getattr(importlib.import_module(module), owner))
    )
    why = ON_OBJECTS[library, module, owner, attribute]

    assert re.search(rf"{re.escape(attribute)}\b", source), (
        f"{library} {version(library)}: {module}.{owner} has no {attribute} any more, which {why}"
    )


def _mro(owner: type) -> list[type]:
    return [
        each
        for each in owner.__mro__
        if each.__module__.partition(".")[0] == owner.__module__.partition(".")[0]
    ]


@pytest.mark.parametrize("library", sorted({used.library for used in USED}))
def test_a_library_into_which_we_reach_is_capped(library: str) -> None:
    [wanted] = [each for each in PROJECT["project"]["dependencies"] if re.match(rf"{library}\b(?!-)", each)]

    assert re.search(r"<\d+\.\d+$", wanted), f"{wanted}: name the first release that nobody has looked at"
