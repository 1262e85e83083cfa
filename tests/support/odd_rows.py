"""Rows that the schema allows and nobody expects: made from its columns and constraints."""

import re
from collections.abc import Mapping
from uuid import UUID

import psycopg
from hypothesis import strategies as st

from tests.support.database import Database

_COLUMNS = """
SELECT attname AS name, format_type(atttypid, NULL) AS type, attnotnull AS needed, atthasdef AS has_default
FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = '' ORDER BY attnum
"""
_CHECKS = """
SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = %(table)s::regclass
UNION ALL
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %(table)s::regclass AND NOT tgisinternal
"""
Row = Mapping[str, object]
DEFAULT = object()

_TIMES = (
    "now", "-infinity", "infinity", "epoch", "4000-01-01 BC", "0001-01-01", "1970-01-01", "9998-12-31Z",
    "20000-01-01", "294276-12-31", "2020-02-29 23:59:60Z",
)  # fmt: skip
_TEXTS = (
    "",
    " ",
    "x" * 500,
    "ü\u202e\U0001f480",
    "NaN",
    "null",
    "{}",
    "%(now)s",
    "'; --",
    "TEST_NOOP",
    "default",
)
_JSON = ("null", "{}", "[]", "1e400", '{"claim": null}', '"\ud7ff"')


def _numbers(low: int, high: int, known: list[int]) -> st.SearchStrategy[object]:
    near = {value + step for value in (*known, 0, low, high) for step in (-1, 0, 1)}
    return st.sampled_from(sorted(value for value in near if low <= value <= high))


def _values(kind: str, words: list[str], numbers: list[int], tenant: UUID) -> st.SearchStrategy[object]:
    texts = st.just("TEST_NOOP") | st.just("TEST_NOOP") | st.sampled_from([*words, *_TEXTS])
    of_kind: dict[str, st.SearchStrategy[object]] = {
        "smallint": _numbers(-(2**15), 2**15 - 1, numbers),
        "integer": _numbers(-(2**31), 2**31 - 1, numbers),
        "bigint": _numbers(-(2**63), 2**63 - 1, numbers),
        "double precision": st.sampled_from([0.0, 1.0, 1e6, 1e-300, 1e308, "Infinity", "-Infinity", "NaN"]),
        "numeric": st.sampled_from(["0", "NaN", "1e1000", "0.5"]),
        "boolean": st.booleans(),
        "uuid": st.just(tenant) | st.just(tenant) | st.just(tenant) | st.uuids(),
        "text": texts,
        "text[]": st.lists(texts | st.none(), max_size=3),
        "jsonb": st.sampled_from(_JSON),
        "bytea": st.sampled_from([b"", b"x" * 32]),
        "timestamp with time zone": st.sampled_from(_TIMES),
    }
    return of_kind[kind]


def rows_of(db: Database, table: str, tenant: UUID) -> st.SearchStrategy[Row]:
    """Rows of which some might pass: NULLs, what the constraints speak of, and what is next to that."""
    said = " ".join(str(row["text"]) for row in db.run(_CHECKS, {"table": table}))
    words = [word for text in re.findall(r"'([^']*)'", said) for word in re.split(r"[{},]", text) if word]
    numbers = [int(number) for number in re.findall(r"(?<![\w'.])-?\d{1,18}\b", said)]
    columns: dict[str, st.SearchStrategy[object]] = {}
    for column in db.run(_COLUMNS, [table]):
        odd = _values(str(column["type"]), words, numbers, tenant)
        plain = DEFAULT if column["has_default"] else None
        if column["needed"] and plain is None:
            columns[str(column["name"])] = odd
        else:  # few are odd at a time: else hardly any row would pass
            columns[str(column["name"])] = st.just(plain) | st.just(plain) | st.just(plain) | odd
    return st.fixed_dictionaries(columns)


def plant(planter: psycopg.Connection[dict[str, object]], table: str, row: Row) -> bool:
    """Whether the database took it."""
    given = {name: value for name, value in row.items() if value is not DEFAULT}
    marks = ", ".join(f"%({name})s" for name in given)
    try:
        planter.execute(
            f"INSERT INTO {table} ({', '.join(given)}) VALUES ({marks}) ON CONFLICT DO NOTHING".encode(),
            given,
        )
    except psycopg.Error:
        return False
    return True


def leased(row: Row, *, expired: bool) -> Row:
    """The same as a job that runs: most rows that anybody reaps or counts are."""
    moment = "2020-01-01Z" if expired else "infinity"
    return {**row, "status": "RUNNING", "lease_owner": "by hand", "lease_expires_at": moment}
