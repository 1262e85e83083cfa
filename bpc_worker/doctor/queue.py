"""Is there work that nobody does, or work that died?"""

from collections.abc import Iterator

import psycopg

from bpc_worker.doctor.findings import Case, Finding, literal, many

_MANY_PLACES = 2_000
_PRIORITIES = 4
_PROBE_MICROSECONDS = 5


def check(case: Case) -> Iterator[Finding]:
    yield from places(case)
    try:
        with case.connection.transaction():
            yield from [*_unhandled(case), *_dead(case), *_further_tables(case)]
    except (
        psycopg.errors.UndefinedTable,
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.UndefinedColumn,
    ):
        return  # of the schema or the role, which is told elsewhere


def places(case: Case) -> Iterator[Finding]:
    """A claim probes each queue for each type and each priority: a queue per customer makes many of them."""
    queues, types = len(case.settings.worker.queues), len(case.registry)
    found = queues * types * _PRIORITIES
    if found > _MANY_PLACES:
        yield Finding(
            check="queue.many_places",
            what=f"{queues} queues and {types} types are {found} places, about"
            f" {found * _PROBE_MICROSECONDS // 1000} ms for each look at all of them",
            why="a look at all goes by index to every queue, type and priority, once a poll;"
            " tenants have their turns inside a queue anyway, so customers need none of their own",
            fix="export BPC_WORKER_QUEUES=default  # those that this worker has to serve, by kind of work",
            paste="shell",
            level="note",
        )


def _unhandled(case: Case) -> Iterator[Finding]:
    for row in case.rows("queued_types"):
        if row["type"] not in case.registry and not row["handled"]:
            since = f"one for {row['seconds']:.0f} s" if row["seconds"] > 0 else "though none is due yet"
            yield Finding(
                check="queue.unhandled",
                what=f"{many(row['jobs'], 'job')} of type {row['type']} wait, {since}: no handler is"
                " installed here, and no running worker has one",
                why="they wait for ever",
                fix="-- Install the package with the handler where a worker runs, or give these jobs up:\n"
                "SELECT count(bpc_cancel_job(job_id)) FROM jobs"
                f" WHERE status = 'QUEUED' AND type = {literal(row['type'])};",
            )


def _dead(case: Case) -> Iterator[Finding]:
    for row in case.rows("dead_letters"):
        code = literal(row["code"]) if row["code"] else "NULL"
        yield Finding(
            check="queue.dead_letters",
            what=f"{many(row['jobs'], 'dead letter')} of type {row['type']}, {row['code'] or 'no code'},"
            f" the latest of {row['latest']}",
            why=f"nobody will look at them by himself; `bpc-worker explain {row['code'] or 'INTERNAL_ERROR'}`"
            " tells usual causes",
            fix="-- When the cause is mended, run them again; once for every 500:\n"
            f"SELECT bpc_retry_jobs({literal(row['type'])}, {code});",
        )


def _further_tables(case: Case) -> Iterator[Finding]:
    names = [name for name in case.settings.reaper.tables if name != "jobs"]
    for row in case.rows("lease_columns", names=names):
        if row["lacks"]:
            lacks = "does not exist" if not row["exists"] else f"lacks {', '.join(row['lacks'])}"
            yield Finding(
                check="queue.further_tables",
                what=f"reaper.tables names {row['name']}, which {lacks}",
                why="the reaper cannot bring back what dead workers left there",
                fix="unset BPC_REAPER_TABLES  # or correct it, here or in the file",
                paste="shell",
            )
