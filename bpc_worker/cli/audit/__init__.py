"""The commands about the audit trail: verify it, list events, write and check checkpoints and proofs."""

from bpc_worker.cli import main


@main.group(modules=("events", "offline", "proofs", "verify"))
def audit() -> None:
    """The audit trail: is it still what was written?"""
