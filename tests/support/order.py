"""Files whose tests take the longest begin first: one that began last would be waited for alone."""

from collections.abc import Sequence
from pathlib import Path

# By what they took when several ran at a time; `pytest --durations=0` tells.
LONGEST: Sequence[str] = (
    "acceptance/test_doctor.py",
    "acceptance/test_wheel.py",
    "acceptance/test_every_route.py",
    "acceptance/test_leases.py",
    "acceptance/test_database_faults.py",
    "acceptance/test_dead_letters.py",
    "acceptance/test_passport_commands.py",
    "acceptance/test_broker.py",
    "acceptance/test_suspects.py",
    "acceptance/test_blocking.py",
    "acceptance/test_demo.py",
    "acceptance/test_signers.py",
    "acceptance/test_pipeline_commands.py",
    "acceptance/test_offline_commands.py",
    "acceptance/test_explain.py",
    "acceptance/test_stopping.py",
    "acceptance/test_bounded_connections.py",
    "acceptance/test_doctor_machine.py",
    "acceptance/test_doctor_pooler.py",
    "acceptance/test_retention.py",
    "acceptance/test_lives.py",
    "contract/test_random_histories.py",
    "integration/postgres/queue/test_claim_plans.py",
    "integration/postgres/embedded/test_database.py",
    "integration/pipeline/test_replays.py",
    "integration/test_retention.py",
    "integration/test_tenants_and_grants.py",
    "integration/test_immutability.py",
)


def rank(file: Path, tests: Path) -> int:
    """Where a file stands; all others behind those, in their order."""
    name = file.relative_to(tests).as_posix()
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)
