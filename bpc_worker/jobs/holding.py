"""A claim in the hands of this process, as those see it who write how it ended."""

from typing import Protocol

from bpc_worker.jobs.model import Claim


class Holding(Protocol):
    """A claim that this process works on: whether its lease holds, and who says how it ended."""

    @property
    def claim(self) -> Claim: ...

    @property
    def stopped(self) -> str | None:
        """Why it was stopped."""

    @property
    def provable(self) -> bool:
        """Whether nobody has stopped it and its lease cannot have ended."""

    def begin_settle(self) -> bool:
        """From here on nobody stops the handler; False when somebody already has."""

    def end_settle(self) -> None: ...
