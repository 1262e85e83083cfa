"""How the programs of a bench talk to it: one JSON object as argument, JSON lines on stdout, marks in a pipe.

Only the standard library: the peers run in an environment of their own.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any


def asked() -> dict[str, Any]:
    """What the bench wants, from the command line."""
    found = json.loads(sys.argv[1])
    assert isinstance(found, dict)
    return found


def say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


class Marks:
    """Tells the bench when a handler began. The clock is read first; telling comes after."""

    def __init__(self, path: str) -> None:
        self._pipe = os.open(path, os.O_WRONLY)

    def began(self, number: int) -> None:
        began_ns = time.monotonic_ns()
        os.write(self._pipe, f"{number} {began_ns}\n".encode())


async def produce(enqueue: Callable[[int], Awaitable[object]]) -> None:
    """One job for every number on stdin; the answer says when the call began and when it was back."""
    say(ready=True)
    while line := await asyncio.to_thread(sys.stdin.readline):  # the loop goes on meanwhile
        number = int(line)
        before_ns = time.monotonic_ns()
        await enqueue(number)
        say(number=number, before_ns=before_ns, after_ns=time.monotonic_ns())


def batches(count: int, size: int) -> Iterator[int]:
    """The sizes of the batches that make up `count`."""
    while count > 0:
        yield min(size, count)
        count -= size
