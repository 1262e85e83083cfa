"""Run every check that can be run, and tell what was found, what was well and what could not be seen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg

from bpc_worker import ids
from bpc_worker.config.settings import Settings
from bpc_worker.doctor import (
    broker,
    children,
    configuration,
    database,
    doors,
    hosts,
    keys,
    limits,
    machine,
    publishing,
    queue,
    roles,
    schema,
    status_lists,
    transactions,
)
from bpc_worker.doctor.findings import Case, Check, Finding, Thresholds
from bpc_worker.registry import Registry

WITHOUT_DATABASE: dict[str, Callable[[Settings], Iterator[Finding]]] = {
    "configuration": configuration.check,
    "children": children.check,
    "broker": broker.check,
    "status lists": status_lists.check,
}
IN_THE_DATABASE: dict[str, Check] = {
    "database": database.check,
    "role": roles.check,
    "schema": schema.check,
    "settings and limits": limits.check,
    "transactions": transactions.check,
    "queue": queue.check,
    "keys": keys.check,
    "hosts": hosts.check,
    "public door": publishing.check,
    "doors": doors.check,
    "clock": machine.check_clock,
    "disk": machine.check_disk,
}


@dataclass(slots=True)
class Report:
    findings: list[Finding] = field(default_factory=list)
    well: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    server: str | None = None
    no_database: bool = False

    @property
    def is_well(self) -> bool:
        return not any(finding.level == "wrong" for finding in self.findings)

    def add(self, family: str, found: Iterator[Finding]) -> None:
        findings = list(found)
        self.findings += findings
        if not findings:
            self.well.append(family)


def examine(
    settings: Settings, registry: Registry, url: str, *, embedded: bool, thresholds: Thresholds
) -> Report:
    report = Report()
    for family, check in WITHOUT_DATABASE.items():
        report.add(family, check(settings))
    try:
        connection = database.connect(settings, url)
    except psycopg.Error as error:
        report.findings.append(database.unreachable(settings, url, error))
        report.unseen += list(IN_THE_DATABASE)
        report.no_database = True
        return report
    with connection:
        case = Case(
            settings=settings,
            registry=registry,
            url=url,
            connection=connection,
            clock=ids.unix_time,
            embedded=embedded,
            thresholds=thresholds,
        )
        report.server = _server(case)
        _in_one_view(case, report)
    return report


def _server(case: Case) -> str:
    server = case.row("server")
    return f"PostgreSQL {server['version']}, database {server['database']}, as {server['login']}"


def _in_one_view(case: Case, report: Report) -> None:
    """A transaction that only reads; behind a pooler it is also what keeps us on one connection."""
    with case.connection.transaction(force_rollback=True):
        case.connection.execute("SET TRANSACTION READ ONLY")
        for family, check in IN_THE_DATABASE.items():
            try:
                with case.connection.transaction():
                    report.add(family, check(case))
            except psycopg.Error as error:
                report.unseen.append(f"{family}: {str(error).splitlines()[0]}")
