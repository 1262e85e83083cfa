"""An order made into files, by several processes; killed and run again, it ends with the same files.

codes.csv           every code and where it is; written last, so with it the order is complete
svg/SERIAL.svg      each code, and png/ likewise
pdf/labels-0001.pdf sheets of labels
"""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from bpc_worker.carrier import order as orders
from bpc_worker.carrier.drawing import TABLE, Drawer
from bpc_worker.carrier.errors import CarrierError, UnfinishedError
from bpc_worker.carrier.order import Order, Part
from bpc_worker.files.lock import FileLock
from bpc_worker.files.reading import read_regular
from bpc_worker.files.writing import ExportFileError, remove_unfinished, write_new

_UNFINISHED_TABLE = "codes.csv.unfinished"
_OURS = ".bpc-"  # the lock, and what a killed writer leaves
_LOCK = f"{_OURS}carrier.lock"
_MAX_TABLE_BYTES = 1024 * 1024 * 1024


def make(order: Order, out: Path, *, processes: int, progress: Callable[[int], None]) -> Path:
    """All files of the order; `progress` hears how many labels were made since it was last called."""
    orders.check(order)
    table = orders.table(order)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _alone(out):
            _begin(order, out, table)
            _make_parts(order, out, processes, progress)
            os.sync()  # one wait for the disk instead of one for each of many thousand files
            write_new(out, TABLE, table)
            (out / _UNFINISHED_TABLE).unlink(missing_ok=True)
    except (OSError, ExportFileError) as error:
        raise UnfinishedError(str(error)) from error
    return out / TABLE


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    path = out / _LOCK
    lock = FileLock(path)
    try:
        if not lock.try_alone() or not lock.is_at(path):
            raise CarrierError(f"{out}: another `carrier make` is writing there; wait for it")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        lock.close()


def _begin(order: Order, out: Path, table: bytes) -> None:
    """Only into a folder that is empty, or has files of this very order."""
    known = [name for name in (TABLE, _UNFINISHED_TABLE) if (out / name).exists()]
    if any(read_regular(out / name, _MAX_TABLE_BYTES) != table for name in known):
        raise CarrierError(f"{out}: labels of another order are there; name another folder with --out")
    if not known and any(not each.name.startswith(_OURS) for each in out.iterdir()):
        raise CarrierError(f"{out}: there is something in the folder already; name another one with --out")
    if TABLE not in known:
        write_new(out, _UNFINISHED_TABLE, table)
    for folder in (out, *(out / each for each in order.formats)):
        folder.mkdir(exist_ok=True)
        remove_unfinished(folder)


def _make_parts(order: Order, out: Path, processes: int, progress: Callable[[int], None]) -> None:
    waiting = orders.parts(order)
    workers = min(processes, len(waiting))
    recipe = replace(order, labels=())
    if workers == 1:
        maker = _Maker(recipe, out)
        for part in waiting:
            progress(maker.make(part))
        return
    with ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_begin_process, initargs=(recipe, out)
    ) as pool:
        started = [pool.submit(_make_part, part) for part in waiting]
        try:
            for done in as_completed(started):
                progress(done.result())
        except BrokenProcessPool as error:
            raise UnfinishedError("one of its processes was killed") from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Maker:
    def __init__(self, recipe: Order, out: Path) -> None:
        self._drawer = Drawer(recipe)
        self._out = out

    def make(self, part: Part) -> int:
        for folder, name, data in self._drawer.files(part):
            write_new(self._out / folder, name, data, durable=False)
        return len(part.labels)


_maker: _Maker | None = None  # of this process


def _begin_process(recipe: Order, out: Path) -> None:
    global _maker  # noqa: PLW0603 - a pool hands its processes nothing else to keep
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is the parent's to answer
    Thread(target=_end_with_parent, daemon=True).start()
    _maker = _Maker(recipe, out)


def _end_with_parent() -> None:
    """A pool's processes wait for ever for work of a parent that was killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _make_part(part: Part) -> int:
    if _maker is None:
        raise RuntimeError("the process was not begun")
    return _maker.make(part)
