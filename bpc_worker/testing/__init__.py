"""For whoever writes handlers: run them in milliseconds, without a server, as the worker does."""

from bpc_worker.testing.builders import A_TENANT, a_claim, a_job, an_error
from bpc_worker.testing.clock import NOON, FakeClock

__all__ = ["A_TENANT", "NOON", "FakeClock", "a_claim", "a_job", "an_error"]
