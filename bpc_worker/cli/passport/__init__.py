"""The commands about passports: build, check, versions in the database, renew, replay, export."""

from bpc_worker.cli import main

VERSION_ID = "ID is that of a version; or that of a passport, or a serial number, for its newest version."


@main.group(modules=("build", "check", "export", "gaps", "renew", "replay", "versions"))
def passport() -> None:
    """Passports: make them, bring them into force, hand them out, check and explain them."""
