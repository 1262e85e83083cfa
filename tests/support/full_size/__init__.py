"""An installation at full size, for tests and figures of pages: generated rows, never called anything else.

The superuser writes them with triggers asleep, as years of work would have left them: ids in the order of
time, ends where settles put them, chains of events whose hashes hold. What no list reads, such as the proofs
of all passports, is short.
"""

from dataclasses import dataclass

from tests.support.database import Database
from tests.support.full_size import jobs, passports, trail, webhooks

ANALYZE = "VACUUM (ANALYZE)"


@dataclass(frozen=True, slots=True)
class Size:
    jobs: int
    passports: int
    events: int

    def part(self, percent: int) -> "Size":
        return Size(*(count * percent // 100 for count in (self.jobs, self.passports, self.events)))


FULL = Size(jobs=1_000_000, passports=100_000, events=1_000_000)
SMALL = FULL.part(1)


def fill(db: Database, size: Size, *, template: str) -> None:
    """`template`: the id of a passport version that was really made; all generated ones look like it."""
    for number in range(2, 6):
        db.tenant(f"generated-{number}")
    passports.fill(db, size.passports, template)
    jobs.fill(db, size.jobs)
    trail.fill(db, size.events)
    webhooks.fill(db, size.events // 10)
    db.run(ANALYZE)
