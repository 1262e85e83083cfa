"""The rows of the bench. A new one is a module with `measure`, and a line here."""

from collections.abc import Callable
from typing import Final

from tests.bench.bench import Bench
from tests.bench.results import Found
from tests.bench.rows import (
    churn,
    claim,
    cpu,
    deliveries,
    drain,
    enqueue,
    fairness,
    idle,
    passports,
    public_page,
    wake,
)

ROWS: Final[dict[str, Callable[[Bench], Found]]] = {
    "drain": drain.measure,
    "enqueue": enqueue.measure,
    "wake": wake.measure,
    "idle": idle.measure,
    "claim": claim.measure,
    "churn": churn.measure,
    "fairness": fairness.measure,
    "cpu": cpu.measure,
    "passports": passports.measure,
    "deliveries": deliveries.measure,
    "public_page": public_page.measure,
}
