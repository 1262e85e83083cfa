"""The commands about keys: make one, and the registry of a tenant's public ones."""

from bpc_worker.cli import main


@main.group(modules=("generate", "registry"))
def keys() -> None:
    """Keys: what passports are signed with. generate needs no database."""
