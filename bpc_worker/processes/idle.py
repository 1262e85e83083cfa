"""Children between two calls."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from bpc_worker.handler_api import TenantId
from bpc_worker.processes.zygote import Child


class Owner(NamedTuple):
    """Whose calls a child takes; never anybody else's."""

    tenant_id: TenantId
    job_type: str
    task: str


class _Idle(NamedTuple):
    owner: Owner
    child: Child
    expiry: asyncio.TimerHandle


class IdleChildren:
    """So many, for so long, each for its owner's next call; the one that was used last goes first."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._idle: list[_Idle] = []

    def __len__(self) -> int:
        return len(self._idle)

    def __iter__(self) -> Iterator[Child]:
        return (each.child for each in self._idle)

    def put(self, owner: Owner, child: Child) -> None:
        """Where that is one too many, the one that has waited longest goes: another's turn needs its room."""
        expiry = asyncio.get_running_loop().call_later(self._seconds, self._expire, child)
        self._idle.append(_Idle(owner, child, expiry))
        if len(self._idle) > self._most:
            self._drop(self._idle[0])

    def take(self, owner: Owner) -> Child | None:
        for each in self._idle[::-1]:
            if not each.child.is_alive:
                self._drop(each)
            elif each.owner == owner:
                each.expiry.cancel()
                self._idle.remove(each)
                return each.child
        return None

    def clear(self) -> None:
        while self._idle:
            self._drop(self._idle[-1])

    def _expire(self, child: Child) -> None:
        [found] = [each for each in self._idle if each.child is child]
        self._drop(found)

    def _drop(self, idle: _Idle) -> None:
        idle.expiry.cancel()
        self._idle.remove(idle)
        idle.child.end_soon()
