"""How quickly the doors answer with a million jobs and a hundred thousand passports behind them.

`python -m tests.bench.doors [percent]`

Generated rows (tests/support/full_size), one real battery among them. First bytes over a kept connection,
each public page once unknown to the process and once kept by it; the plans of all statements of all pages,
as PostgreSQL told them meanwhile; what ten live pages cost. Ends with 1 when a goal is missed.
"""

import sys
from urllib.parse import urlsplit

from bpc_worker.web.dashboard.door import dashboard_door
from tests.bench.doors.first_byte import milliseconds, summary
from tests.bench.doors.installation import Installation, installation, opened, telling_plans
from tests.bench.doors.live import live_cost
from tests.bench.doors.plans import whole_tables
from tests.support import full_size
from tests.support.crawling import Ask, crawl, parts
from tests.support.serving import Answer, Serving, token

GOAL_PUBLIC_MS, GOAL_DASHBOARD_MS, GOAL_LIVE = 50.0, 300.0, 0.05
TIMES = 20
LARGE = 2000  # rows; a smaller table may be read as a whole
SCOPES = ("read", "values", "write", "activate", "webhooks", "operate", "scale")


def main(percent: int) -> int:
    with installation(full_size.FULL.part(percent)) as made:
        missed = [*public_pages(made), *dashboard_pages(made), *live_pages(made)]
    for each in missed:
        print(f"MISSED: {each}")
    return 1 if missed else 0


def public_pages(made: Installation) -> list[str]:
    rows = made.db.run(
        "SELECT unique_identifier FROM public_passports WHERE status = 'ACTIVE'"
        " AND unique_identifier LIKE '%%/21/GEN%%' ORDER BY md5(unique_identifier) LIMIT %s",
        [TIMES],
    )
    generated = [urlsplit(str(row["unique_identifier"])) for row in rows]
    real = urlsplit(made.real.identifier)
    missed = []
    for name, links in (("generated passports", generated), ("the demo's battery", [real])):
        headers = {"Host": links[0].netloc, "Accept": "text/html"}
        paths = [link.path for link in links]
        with opened(made, "public") as doors:
            milliseconds(
                doors, "public", ["/"], headers
            )  # whose connection to the database is the process's first
            first = milliseconds(doors, "public", paths, headers)
            again = milliseconds(doors, "public", paths * TIMES, headers)
        print(f"public page, {name}, first seen: {summary(first)}")
        print(f"public page, {name}, kept      : {summary(again)}")
        missed += [f"{name}: {max(first):.1f} ms"] if sorted(first)[len(first) // 2] > GOAL_PUBLIC_MS else []
    return missed


def dashboard_pages(made: Installation) -> list[str]:
    secret = token(made.db, *SCOPES)
    headers = {"Accept": "text/html", "Authorization": f"Bearer {secret}"}
    with telling_plans(made) as told, opened(made, "dashboard") as doors:
        rows = made.db.run("SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples > %s", [LARGE])
        large = {str(row["relname"]) for row in rows}
        found = crawl(_asking(doors, secret), dashboard_door(parts(made.db)), ["/"], each=4)
    print(*found.broken, sep="\n")
    missed = [
        f"{each} reads all of {', '.join(sorted(tables))}"
        for each, tables in whole_tables(told, large).items()
    ]
    print(
        f"{len(told)} statements of {len(found.pages)} pages, {len(missed)} of them read a whole large table"
    )
    with opened(made, "dashboard") as doors:
        for address in found.pages:
            cost = milliseconds(doors, "dashboard", [address] * TIMES, headers)
            print(f"{summary(cost)}   {address}")
            missed += (
                [f"{address}: {max(cost):.0f} ms"] if sorted(cost)[TIMES // 2] > GOAL_DASHBOARD_MS else []
            )
    return missed


def live_pages(made: Installation) -> list[str]:
    with opened(made, "dashboard") as doors:
        cost = live_cost(made, doors, token(made.db, *SCOPES))
    print(f"ten live pages: {cost * 100:.1f} % of a core")
    return [f"ten live pages cost {cost * 100:.1f} %"] if cost > GOAL_LIVE else []


def _asking(doors: Serving, secret: str) -> Ask:
    def ask(address: str) -> Answer:
        return doors.ask("dashboard", address, token=secret, headers={"Accept": "text/html"}, timeout=60)

    return ask


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
