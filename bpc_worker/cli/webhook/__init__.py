"""The commands about webhooks: their endpoints, what was sent, and whether a request is ours."""

from bpc_worker.cli import main

ENDPOINT = "ENDPOINT is an id, or the address if no other endpoint has the same."


@main.group(modules=("deliveries", "endpoints", "verify"))
def webhook() -> None:
    """Webhooks: who is told of events, how deliveries went, and whether a request is ours."""
