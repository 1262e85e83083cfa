"""A program for `signing.command` that holds a key, as a small HSM would: `… SEED_FILE HOW [MORE] KIND`.

HOW is "honest", or how it misbehaves. It is run by its path, with nothing of this project at hand.
"""

import os
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK = b"x" * 1024 * 1024


def say(data: bytes, to: int = 1) -> None:
    while data:
        data = data[os.write(to, data) :]


def hang() -> None:
    if len(sys.argv) > 4:  # somebody wants to know who hangs
        Path(sys.argv[3]).write_text(str(os.getpid()))
    time.sleep(3600)


def give_up(seed: bytes) -> None:
    sys.stderr.write(f"the key is {seed.hex()}\n")
    sys.exit(3)


def flood(to: int) -> None:
    """A gigabyte."""
    for _ in range(1024):
        say(_BLOCK, to)
    Path(sys.argv[3]).write_text("all of it was read")


def tell(asked: bytes, answer: bytes) -> None:
    """What it was given, to a file."""
    descriptors = sorted(each.name for each in Path("/proc/self/fd").iterdir())
    document = Path(os.environ["BPC_DOCUMENT"])
    mode = oct(document.stat().st_mode & 0o777)
    told = asked.hex(), dict(os.environ), descriptors, sys.argv[-1], document.read_bytes(), mode
    Path(sys.argv[3]).write_text(repr(told))
    say(answer)


def main() -> None:
    seed, how = Path(sys.argv[1]).read_bytes(), sys.argv[2]
    asked = sys.stdin.buffer.read()
    key = Ed25519PrivateKey.from_private_bytes(seed)
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    ways: dict[str, Callable[[], None]] = {
        "honest": lambda: say(b64encode(key.sign(asked)) + b"\n"),
        "in hex": lambda: say(b"  " + key.sign(asked).hex().upper().encode() + b"\r\n"),
        "raw": lambda: say(key.sign(asked)),
        "hangs": hang,
        "crashes": os.abort,
        "gives up": lambda: give_up(seed),
        "says nothing": lambda: None,
        "lies": lambda: say(b64encode(other.sign(asked))),
        "signs something else": lambda: say(b64encode(key.sign(asked + b"!"))),
        "floods": lambda: flood(1),
        "complains at length": lambda: flood(2),
        "tells": lambda: tell(asked, b64encode(key.sign(asked))),
    }
    ways[how]()


if __name__ == "__main__":
    main()
