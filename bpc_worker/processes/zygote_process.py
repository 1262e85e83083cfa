"""The zygote: a process that has imported the child tasks, and forks a child whenever it is told to.

It is started afresh, with an environment of its own, and is told numbers and descriptors, nothing else: no
payload, no document, no secret. So whatever a child inherits from it is the same for all tenants.
"""

import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import msgspec

from bpc_worker.processes import child, confinement, hardening
from bpc_worker.processes.ends import how_ended
from bpc_worker.processes.frames import TO_ZYGOTE, ChildCall, End, Ended, Fork, Ready, ZygoteOrders
from bpc_worker.processes.libc import libc
from bpc_worker.processes.parent import die_with

_PR_SET_CHILD_SUBREAPER = 36
_LONGEST_MESSAGE = 1024
_PIPES = 2
_OWN_CHILDREN = Path("/proc/thread-self/children")


def main() -> NoReturn:
    orders = msgspec.json.decode(sys.argv[1], type=ZygoteOrders)
    die_with(orders.worker)
    libc().prctl(_PR_SET_CHILD_SUBREAPER, 1)
    confinement.offer_to_the_oom_killer()  # for its children: it is not possible once memory is closed
    hardening.close_memory()  # a child of the same account could write into what all others are made of
    control = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # nowhere: a task has nothing to read there
    gc.disable()
    for name in orders.tasks:
        with suppress(Exception):  # whoever asks for the task is told
            _prepare(name)
    confinement.filter_calls(network=False)  # children inherit it
    gc.collect()
    gc.freeze()  # what is shared stays shared: no child's collector writes into it
    Nursery(orders, control).run()


def _prepare(name: str) -> None:
    task = child.find_task(name)
    for message in (ChildCall, task.request):
        msgspec.msgpack.Decoder(message)  # what it has to know of the type is kept, and children have it
    for module in task.imports:
        import_module(module)
    if task.warm_up is not None:
        task.warm_up()


class Nursery:
    """Its one thread waits for orders and for the ends of children."""

    def __init__(self, orders: ZygoteOrders, control: socket.socket) -> None:
        self._orders = orders
        self._control = control
        self._pid = os.getpid()
        self._children: dict[int, int] = {}  # the worker's number of each, by its process
        self._bell, self._ringer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._ringer, warn_on_full_buffer=False)

    def run(self) -> NoReturn:
        events = select.poll()
        events.register(self._control, select.POLLIN)
        events.register(self._bell, select.POLLIN)
        self._tell(Ready())
        while True:
            for descriptor, _ in events.poll():
                if descriptor == self._bell:
                    os.read(self._bell, _LONGEST_MESSAGE)
                    self._reap()
                else:
                    self._obey()

    def _obey(self) -> None:
        said, pipes, _, _ = socket.recv_fds(self._control, _LONGEST_MESSAGE, _PIPES, socket.MSG_CMSG_CLOEXEC)
        if not said:  # the worker is gone, or wants us to go: so do our children
            os._exit(0)
        match TO_ZYGOTE.decode(said):
            case Fork(number):
                self._fork(number, pipes)
            case End(number):
                self._end(number)

    def _fork(self, number: int, pipes: list[int]) -> None:
        try:
            calls, answers = pipes  # fewer where this process may not open more
            pid = os.fork()
        except (OSError, ValueError) as error:
            self._tell(Ended(number, f"it could not be forked: {error}"))
        else:
            if pid == 0:
                self._become_child(calls, answers)
            self._children[pid] = number
        for descriptor in pipes:
            os.close(descriptor)

    def _become_child(self, calls: int, answers: int) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (self._control.detach(), self._bell, self._ringer):
                os.close(descriptor)
            child.live(self._orders, zygote=self._pid, calls=calls, answers=answers)
            code = 0
        except SystemExit as error:  # of a task
            code = error.code if isinstance(error.code, int) else 1
        finally:
            os._exit(code)

    def _end(self, number: int) -> None:
        """It is reaped, and told of, like one that ended by itself."""
        for pid, known in self._children.items():
            if known == number:
                os.kill(pid, signal.SIGKILL)
                with suppress(ProcessLookupError):  # it has no session of its own yet
                    os.killpg(pid, signal.SIGKILL)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if (number := self._children.pop(pid, None)) is not None:
                    self._tell(Ended(number, how_ended(os.waitstatus_to_exitcode(status))))
        self._end_strays()

    def _end_strays(self) -> None:
        """What children started and left behind has become ours, and is nobody's work."""
        while strays := _own_children() - self._children.keys():
            for pid in strays:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)  # what it leaves behind is ours after that

    def _tell(self, message: Ready | Ended) -> None:
        self._control.send(msgspec.msgpack.encode(message))


def _own_children() -> set[int]:
    with suppress(OSError):  # some kernels do not tell
        return set(map(int, _OWN_CHILDREN.read_text().split()))
    return set()
