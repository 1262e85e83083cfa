"""What it means for a job that its handler was stopped, or stopped itself."""

from bpc_worker.engine.lease import StopReason
from bpc_worker.jobs.errors import Code
from bpc_worker.jobs.model import Cancelled, ErrorInfo, InfrastructureAway, Lost, Released, Retry, Settleable


def because(reason: StopReason | None, timeout: float, *, cancelled: bool) -> Settleable | Lost:
    """By who stopped it.

    One that gave up by itself, because it could not prove its lease, may still hold it: the settle tells.
    """
    match reason:
        case StopReason.TIMEOUT:
            text = f"the handler did not end within {timeout:g} s"
            return Retry(ErrorInfo(Code.HANDLER_TIMEOUT, text, True))
        case StopReason.SHUTDOWN:
            return Released()
        case StopReason.CANCEL:
            return Cancelled()
        case None if cancelled:
            text = "the handler cancelled itself"
            return Retry(ErrorInfo(Code.INTERNAL_ERROR, text, True))
        case StopReason.UNPROVEN | None:
            text = "the lease could not be renewed in time"
            return InfrastructureAway(ErrorInfo(Code.DB_UNAVAILABLE, text, True))
        case StopReason.LOST:
            return Lost()
