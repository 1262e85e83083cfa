"""The commands about jobs of all tenants: look at them, and act on them."""

from bpc_worker.cli import main


@main.group(modules=("act", "look"))
def jobs() -> None:
    """Jobs of all tenants: what they are, why one does not run, retry, cancel, replay."""
