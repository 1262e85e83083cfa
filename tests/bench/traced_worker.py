"""`bpc-worker run` in this process, with every call and return below bpc_worker/ written down.

Started by tests.bench.trace_job with the Python of the tree that is looked at; only the standard library. The
journey of one job after the other goes to standard output, one JSON object each.
"""

import asyncio.runners
import functools
import importlib
import importlib.metadata
import json
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

STORE = "PostgresJobs"
ENDS = ("settle", "settle_group")
RUNNERS = asyncio.runners.__file__  # below it a callback was called by the event loop, and by nobody of ours


class Journey:
    """From the call of the claim that brought a job to the answer of the statement that wrote its end."""

    def __init__(self, root: Path) -> None:
        self._root = f"{root}/"
        self._files: dict[CodeType, str | None] = {}
        self._steps: list[tuple[str, str, str]] = []
        self._began = False  # a claim has brought a job whose end is not written yet

    def look(self, frame: FrameType, event: str, _: object) -> None:
        """For sys.setprofile: where a thread is after a call or a return."""
        if event not in {"call", "return"} or self._file(frame) is None:
            return
        at: FrameType | None = frame if event == "call" else frame.f_back
        while at is not None and self._file(at) is None:
            at = None if at.f_code.co_filename == RUNNERS else at.f_back
        if at is not None:
            thread = threading.current_thread().name
            self._steps.append((thread, str(self._file(at)), at.f_code.co_name))

    def _file(self, frame: FrameType) -> str | None:
        code = frame.f_code
        if code not in self._files:
            name = code.co_filename
            self._files[code] = name.removeprefix(self._root) if name.startswith(self._root) else None
        return self._files[code]

    def claiming(self) -> None:
        if not self._began:
            self._steps.clear()

    def claimed(self, answer: Any) -> None:
        self._began = self._began or bool(answer.claims)

    def settled(self) -> None:
        if self._began:
            print(json.dumps(self._steps), flush=True)
            self._began = False


def watch(store: type, journey: Journey) -> None:
    """Wrap what opens and what closes a job's journey."""
    claim = store.claim  # type: ignore[attr-defined]

    @functools.wraps(claim)
    async def claiming(*args: Any, **more: Any) -> Any:
        journey.claiming()
        answer = await claim(*args, **more)
        if more.get("ends"):
            journey.settled()
        journey.claimed(answer)
        return answer

    store.claim = claiming  # type: ignore[attr-defined]
    for name in ENDS:
        setattr(store, name, _closing(getattr(store, name), journey))


def _closing(settle: Any, journey: Journey) -> Any:
    @functools.wraps(settle)
    async def settling(*args: Any, **more: Any) -> Any:
        answer = await settle(*args, **more)
        journey.settled()
        return answer

    return settling


def the_store(root: Path) -> type:
    """The queue's class, wherever it lives."""
    [file] = [file for file in root.rglob("*.py") if f"\nclass {STORE}" in file.read_text(encoding="utf-8")]
    module = ".".join([root.name, *file.relative_to(root).with_suffix("").parts])
    found: type = getattr(importlib.import_module(module), STORE)
    return found


def main() -> None:
    root = Path(str(importlib.import_module("bpc_worker").__file__)).parent
    journey = Journey(root)
    watch(the_store(root), journey)
    [script] = importlib.metadata.entry_points(group="console_scripts", name="bpc-worker")
    command = script.load()
    threading.setprofile(journey.look)
    sys.setprofile(journey.look)
    command(["run"])


if __name__ == "__main__":
    main()
