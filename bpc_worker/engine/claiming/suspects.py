"""How the process of suspects claims: one of them, and the next when the end of that one is durable."""

from dataclasses import replace

from bpc_worker.engine.claiming.slots import Slots
from bpc_worker.jobs.store import PLAIN_TERMS, Caps, ClaimTerms, Ends, JobStore, Look

_MOST = 100  # then another worker, with other types, may have the watch


class OneSlot(Slots):
    """No claim while anything is held: whoever might kill this process kills nothing else with it."""

    def room(self, held: int, ahead: int = 0) -> int:  # noqa: ARG002 - none comes before its slot is free
        return 0 if held else 1

    @property
    def io_bound_only(self) -> tuple[int, Caps]:
        return 0, {}


class SuspectsOnly:
    """The queue, as the process of suspects sees it: a ClaimSource that runs dry."""

    def __init__(self, store: JobStore, watcher: str) -> None:
        self._store = store
        self._watcher = watcher
        self._left = _MOST

    async def claim(
        self,
        *,
        limit: int,  # noqa: ARG002 - it is one
        fresh: bool = True,  # noqa: ARG002 - every look is
        caps: Caps | None = None,
        ends: Ends = (),
        terms: ClaimTerms = PLAIN_TERMS,
    ) -> Look:
        """The ends are settled otherwise: nothing is held when this asks."""
        if self._left <= 0:
            return Look(ended=not ends)
        look = await self._store.claim_suspect(self._watcher, caps=caps or {}, careful=terms.careful)
        self._left -= len(look.claims)
        return replace(look, ended=not ends)

    async def release_unconfirmed_claims(self) -> None:
        await self._store.release_unconfirmed_claims()
