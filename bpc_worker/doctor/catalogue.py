"""What the migrations make, object by object, and how a database differs from it.

The expected objects are shipped in sql/catalogue.jsonl, written from a freshly migrated database and checked
by a test; each comes with the statement that makes it. The first line says how objects of each kind are
usually described, with places for what differs; every other line is an object, and what is unusual about it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from psycopg.rows import DictRow

from bpc_worker.postgres.sql_files import sql_root

KINDS = (
    "functions", "tables", "columns", "constraints", "indexes", "triggers", "policies", "views", "grants",
)  # fmt: skip
_OF_A_COLUMN = {"default", "not null"}  # come with the column when it is made
_MADE_ANEW = {"index", "unique index", "trigger", "policy"}
# What somebody may add to our tables without harm; everything else changes what a job or a tenant may do.
_HARMLESS_EXTRAS = {
    "table",
    "column",
    "generated column",
    "default",
    "index",
    "function",
    "view",
    "view owner",
    "table owner",
    "function owner",
}
_HARMLESS_EXTRAS |= {"row security", "trigger that fires"}

DESCRIBED = ("part_of", "state", "make", "change")
Description = dict[str, str | None]  # of an object: any of these
Line = tuple[str, str, Description]  # kind, name, and what is unusual
_PLACE = re.compile(r"\{(name|table|own|part_of|state)\}")


class Thing(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object: how it is, and the statements that make it so, change it into that, or remove it."""

    kind: str
    name: str
    part_of: str
    state: str
    make: str | None = None
    change: str | None = None
    unmake: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    sort: str  # missing, changed or extra
    thing: Thing
    found: str | None
    fix: str


def things(rows: Callable[[str], Iterable[DictRow]]) -> list[Thing]:
    """Every object of the database, in an order in which they can be made."""
    return [msgspec.convert(row, Thing) for kind in KINDS for row in sorted(rows(kind), key=_in_order)]


# Within one kind of query: what the others stand on comes first.
_FIRST = ("function", "table", "column", "generated column", "primary key", "unique", "check")


def _in_order(row: DictRow) -> tuple[int, str, str]:
    kind = str(row["kind"])
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST), kind, str(row["name"])


def expected() -> list[Thing]:
    usual, *lines = (sql_root() / "catalogue.jsonl").read_bytes().splitlines()
    kinds = msgspec.json.decode(usual, type=dict[str, Description])
    return [described(kinds, *msgspec.json.decode(line, type=Line)) for line in lines]


def described(kinds: Mapping[str, Description], kind: str, name: str, unusual: Description) -> Thing:
    """The object of a line; what has been filled in may stand in what follows."""
    table, _, own = name.partition(".")
    filled = {"name": name, "table": table, "own": own}
    texts = kinds[kind] | unusual
    for field in DESCRIBED:
        text = texts.get(field)
        if text is not None:
            filled[field] = _PLACE.sub(lambda place: filled[place[1]], text)
    return Thing(
        kind=kind,
        name=name,
        part_of=filled["part_of"],
        state=filled["state"],
        make=filled.get("make"),
        change=filled.get("change"),
    )


def differences(wanted: Sequence[Thing], found: Sequence[Thing]) -> Iterator[Difference]:
    """What is missing or changed, in the order in which it can be fixed, then what is there besides."""
    have = {(thing.kind, thing.name): thing for thing in found}
    known = {(thing.kind, thing.name) for thing in wanted}
    for thing in wanted:
        here = have.get((thing.kind, thing.name))
        if here is None:
            if thing.make is not None and not _comes_with_another(thing, have):
                yield Difference(sort="missing", thing=thing, found=None, fix=thing.make)
        elif here.state != thing.state:
            yield Difference(sort="changed", thing=thing, found=here.state, fix=_change(thing, here))
    ours = {thing.part_of for thing in wanted}
    for thing in found:
        if (thing.kind, thing.name) not in known and _matters(thing, ours):
            yield Difference(sort="extra", thing=thing, found=thing.state, fix=thing.unmake or "")


def _comes_with_another(thing: Thing, have: dict[tuple[str, str], Thing]) -> bool:
    """Made with its column; or only worth a word when its function is made anew."""
    if thing.kind == "closed function":
        return ("function", thing.name) in have
    columns = (("column", thing.name), ("generated column", thing.name))
    return thing.kind in _OF_A_COLUMN and not any(column in have for column in columns)


def _change(thing: Thing, here: Thing) -> str:
    if here.state == f"{thing.state} NOT VALID":
        table, _, name = thing.name.partition(".")
        return f'ALTER TABLE public."{table}" VALIDATE CONSTRAINT "{name}"'
    if thing.kind == "grant":
        return here.change or ""
    if thing.kind in _MADE_ANEW:
        return f"{here.unmake};\n{thing.make}"
    return thing.change or thing.make or ""


def _matters(thing: Thing, ours: set[str]) -> bool:
    return thing.part_of in ours and thing.kind not in _HARMLESS_EXTRAS and thing.unmake is not None
