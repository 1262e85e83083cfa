"""What holders do with the rows that they hold, in memory: begin and renew them, ask whether to stop."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bpc_worker.jobs.model import Claim, Fate, LeaseToken
from bpc_worker.jobs.store import Heartbeat, Renewal
from bpc_worker.memory import json_values
from bpc_worker.memory.rows import Row
from bpc_worker.memory.table import Table


def held(table: Table, claims: Iterable[Claim]) -> dict[LeaseToken, Row]:
    """The rows of those that are still held under their token."""
    rows = ((claim.lease_token, table.rows.get(claim.job_id)) for claim in claims)
    return {
        token: row
        for token, row in rows
        if row is not None and row.lease_token == token and row.lease_owner is not None
    }


def begin(table: Table, claims: Iterable[Claim]) -> frozenset[LeaseToken]:
    rows = held(table, claims)
    for token, row in rows.items():
        row.begun_token = token
    return frozenset(rows)


def cancel_requested(table: Table, claims: Iterable[Claim]) -> frozenset[LeaseToken]:
    return frozenset(
        token for token, row in held(table, claims).items() if row.cancel_requested_at is not None
    )


def renew(table: Table, beats: Sequence[Heartbeat], now: datetime, lease: timedelta) -> Renewal:
    told = [(beat, _progress(beat)) for beat in beats]  # one that cannot be stored costs the whole call
    renewed, cancelled, missing = set(), set(), {}
    for beat, progress in told:
        row = table.rows.get(beat.job_id)
        fate = _fate(row, beat.lease_token, now)
        if row is None or row.lease_expires_at is None or fate is not None:
            missing[beat.lease_token] = fate or Fate.LOST
            continue
        row.lease_expires_at = max(row.lease_expires_at, now + lease)
        row.last_heartbeat_at = now
        row.stage = row.stage if beat.stage is None else beat.stage
        row.progress = row.progress if beat.progress is None else progress
        renewed.add(beat.lease_token)
        if row.cancel_requested_at is not None:
            cancelled.add(beat.lease_token)
    return Renewal(frozenset(renewed), frozenset(cancelled), missing)


def _fate(row: Row | None, token: LeaseToken, now: datetime) -> Fate | None:
    """What became of a claim; None when it is still held. Nobody ever locks a row here."""
    if row is None or row.lease_token != token:
        return Fate.LOST
    if row.lease_expires_at is None:
        return Fate.SETTLED
    return Fate.LOST if row.lease_expires_at <= now else None


def _progress(beat: Heartbeat) -> object:
    return None if beat.progress is None else json_values.stored(beat.progress, what="the progress")
