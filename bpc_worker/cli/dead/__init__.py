"""The commands about dead letters, one by one and many at once."""

from bpc_worker.cli import main


@main.group(modules=("letters",))
def dead() -> None:
    """Dead letters: jobs that nobody tries again by himself."""
