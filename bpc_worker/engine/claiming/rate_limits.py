"""How many jobs of a limited type the next look may bring. It bounds the claim; no job is put off by it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from bpc_worker.engine.outage_log import is_away
from bpc_worker.jobs.errors import JobError
from bpc_worker.jobs.model import Claim
from bpc_worker.jobs.store import Caps, Look, Tokens, TokenStore
from bpc_worker.observability import log

_log = log.get("rate_limits")
_ASK_AGAIN_SECONDS = 1.0


def _pass_over(error: Exception) -> None:
    """Unless nobody can be asked for anything."""
    if is_away(error):
        raise error
    if isinstance(error, JobError):
        _log.warning("rate_limits_failed", error_code=error.code, error_message=error.message)
    else:
        _log.error("rate_limits_failed", exc_info=error)


class RateLimits:
    """Tokens are taken right before a look and given back right after it: nobody hoards them.

    What a look that failed would have used is lost: it may have claimed after all, and too few is no harm.
    """

    def __init__(self, types: Collection[str], tokens: TokenStore, on_limited: Callable[[], None]) -> None:
        self._types = frozenset(types)
        self._tokens = tokens
        self._on_limited = on_limited
        self._taken: dict[str, int] = {}
        self._idle = False  # the last look brought nothing
        self.wait_seconds: float | None = None  # until there is a token for what had to be left behind

    async def empty_look(self) -> Look | None:
        """What an idle worker's look would bring, if that is nothing: one question instead of three."""
        if not self._idle or self.wait_seconds is not None:
            return None
        try:
            return await self._tokens.empty_look()
        except Exception as error:  # noqa: BLE001 - the claim itself tells whether there is anything
            _pass_over(error)
            return None

    async def caps(self, caps: Caps, asked: int) -> Caps:
        """The caps of a look for `asked` jobs, with the limits in them."""
        rooms = {job_type: room for types, room in caps.items() for job_type in types & self._types}
        wanted = {job_type: min(asked, rooms.get(job_type, asked)) for job_type in sorted(self._types)}
        found = await self._take({job_type: most for job_type, most in wanted.items() if most > 0})
        if found is None:
            self._taken, self.wait_seconds = {}, _ASK_AGAIN_SECONDS
            return self._bounded(caps)
        self._taken = {job_type: tokens.taken for job_type, tokens in found.items()}
        waits = [tokens.wait_seconds for tokens in found.values() if tokens.wait_seconds is not None]
        self.wait_seconds = min(waits, default=None)
        if waits:
            self._on_limited()
        return self._bounded(caps)

    async def _take(self, wanted: Mapping[str, int]) -> dict[str, Tokens] | None:
        """None: buckets that cannot be asked give nothing, and types without a limit do not wait for them."""
        try:
            return await self._tokens.take(wanted)
        except Exception as error:  # noqa: BLE001 - a row that cannot be read is no reason to stop either
            _pass_over(error)
            return None

    async def record_claim(self, claims: Iterable[Claim]) -> None:
        """After a look that was answered."""
        claims = tuple(claims)
        self._idle = not claims
        if not self._taken:
            return
        used = Counter(claim.type for claim in claims)
        unused = {kind: count - used[kind] for kind, count in self._taken.items() if count > used[kind]}
        self._taken = {}
        if unused:
            with suppress(Exception):  # they come back by themselves, only later
                await self._tokens.give_back(unused)

    def close(self) -> None:
        self._tokens.close()

    def _bounded(self, caps: Caps) -> Caps:
        """Every limited type has a cap of its own, and takes its part of the one it shared with others."""
        bounded: dict[frozenset[str], int] = {}
        for types, room in caps.items():
            left = room - sum(self._taken.get(job_type, 0) for job_type in types & self._types)
            bounded[types - self._types] = max(0, left)
        bounded.pop(frozenset(), None)
        return bounded | {frozenset({job_type}): self._taken.get(job_type, 0) for job_type in self._types}
