"""For whoever writes handlers: run them in milliseconds, without a server, as the worker does."""

from bpc_worker.testing.builders import A_TENANT, a_claim, a_job, an_error, an_id
from bpc_worker.testing.clock import NOON, FakeClock
from bpc_worker.testing.receiver import Posted, Receiver
from bpc_worker.testing.transactions import FakeTx, Statement, Unanswered
from bpc_worker.testing.workbench import Drained, JobReport, Workbench, drain

__all__ = [
    "A_TENANT",
    "NOON",
    "Drained",
    "FakeClock",
    "FakeTx",
    "JobReport",
    "Posted",
    "Receiver",
    "Statement",
    "Unanswered",
    "Workbench",
    "a_claim",
    "a_job",
    "an_error",
    "an_id",
    "drain",
]
