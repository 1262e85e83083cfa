"""The queue as tables: printed once by `stats`, again and again by `top`."""

from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bpc_worker.operator.watch import Picture

_COLOURS = {
    "QUEUED": "yellow",
    "RUNNING": "cyan",
    "DEAD_LETTER": "red",
    "FAILED": "red",
    "SUCCEEDED": "green",
}


def tables(seen: Picture, *, rows: int) -> Group:
    """At most `rows` running jobs; the rest is counted."""
    parts: list[RenderableType] = [_depths(seen)]
    if seen.running:
        parts.append(_running(seen, rows))
    if seen.dead:
        parts.append(_dead(seen))
    if seen.pauses:
        parts.append(_pauses(seen))
    parts.append(_workers(seen))
    return Group(*parts)


def ago(moment: datetime | None, now: datetime) -> str:
    """How long, in the two largest units."""
    if moment is None:
        return ""
    seconds = max(0, int((now - moment).total_seconds()))
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{seconds % 60:02}s" if minutes else f"{seconds}s"


def _safe(text: str) -> Text:
    """What others wrote cannot move the cursor, and is no markup."""
    return Text("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text))


def _table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)


def _depths(seen: Picture) -> RenderableType:
    if not seen.depths:
        return Text("the queue is empty")
    table = _table("jobs", "queue", "type", "status", "count", "due", "oldest")
    for each in seen.depths:
        status = Text(each.status, style=_COLOURS.get(each.status, ""))
        due = str(each.due) if each.status == "QUEUED" else ""
        table.add_row(_safe(each.queue), each.type, status, str(each.count), due, ago(each.oldest, seen.at))
    return table


def _running(seen: Picture, rows: int) -> Table:
    title = f"running: {len(seen.running)}"
    table = _table(title, "job", "type", "attempt", "for", "stage", "worker")
    for each in seen.running[:rows]:
        lasted = Text(ago(each.started_at, seen.at))
        if each.overdue:
            lasted = Text(f"{lasted} overdue", style="red")
        tried = f"{each.attempts}/{each.max_attempts}"
        stage, worker = _safe(each.stage or ""), _safe(each.lease_owner)
        table.add_row(str(each.job_id), each.type, tried, lasted, stage, worker)
    return table


def _dead(seen: Picture) -> Table:
    table = _table("dead letters", "count", "type", "code", "oldest", "newest")
    for each in seen.dead:
        oldest, newest = ago(each.oldest, seen.at), ago(each.newest, seen.at)
        table.add_row(str(each.count), each.type, _safe(each.fail_code or ""), oldest, newest)
    return table


def _pauses(seen: Picture) -> Table:
    table = _table("paused", "kind", "name", "until", "by", "why")
    for each in seen.pauses:
        until = "resumed" if each.expires_at is None else f"{each.expires_at:%Y-%m-%d %H:%M:%SZ}"
        table.add_row(
            each.kind, _safe(each.tenant or each.name), until, _safe(each.paused_by), _safe(each.reason)
        )
    return table


def _workers(seen: Picture) -> RenderableType:
    if not seen.workers:
        return Text("no worker has announced itself: start one with `bpc-worker run`")
    table = _table("workers", "worker", "pid", "slots", "queues", "types", "release", "seen")
    for each in seen.workers:
        types = str(len(each.types)) if each.types else "reaper"
        table.add_row(
            _safe(each.worker_id), str(each.pid), str(each.concurrency), _safe(", ".join(each.queues)), types,
            _safe(each.release), ago(each.seen_at, seen.at),
        )  # fmt: skip
    return table
