"""Passport versions verified now: each once for the bytes that are stored at this moment, beside the pages.

What was found out about the same bytes and keys holds; a byte that changes is other bytes.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from bpc_worker.core.passport.bundle import BundleError, Verified, verify_bundle
from bpc_worker.domain.stored import StoredVersion
from bpc_worker.jobs.errors import Permanent

_KEPT: Final = 32  # some hold much
_PATIENCE: Final = 0.15  # seconds that a page waits; later it is there at the next look
_AT_ONCE = 1


@dataclass(frozen=True, slots=True)
class Checked:
    """`verified` where all holds, else which part does not and why; neither: it is being found out."""

    verified: Verified | None = None
    part: str = ""
    why: str = ""

    @property
    def is_known(self) -> bool:
        return self.verified is not None or bool(self.why)


class Checks:
    def __init__(self) -> None:
        self._known: OrderedDict[bytes, asyncio.Task[Checked]] = OrderedDict()
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def of(self, version: StoredVersion, *, patience: float = _PATIENCE) -> Checked:
        try:
            parts = version.parts()
        except BundleError as error:
            return Checked(part=error.part, why=error.message)
        except Permanent as error:  # not signed yet
            return Checked(part="signature", why=error.message)
        key = _key(version, parts)
        task = self._known.get(key)
        if task is None:
            task = self._known[key] = asyncio.create_task(self._check(version, parts))
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        try:
            return await asyncio.wait_for(asyncio.shield(task), patience)
        except TimeoutError:
            return Checked()

    async def _check(self, version: StoredVersion, parts: dict[str, bytes]) -> Checked:
        async with self._turn:
            try:
                return Checked(await asyncio.to_thread(verify_bundle, parts, version.registry))
            except BundleError as error:
                return Checked(part=error.part, why=error.message)


def _key(version: StoredVersion, parts: dict[str, bytes]) -> bytes:
    found = sha256()
    for name in sorted(parts):
        found.update(sha256(parts[name]).digest())
    for key in version.keys:
        found.update(f"{key.key_id} {key.status} {key.public_key.hex()}".encode())
    return found.digest()
