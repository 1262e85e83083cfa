"""The law's table as rule text: `python -m tests.support.law_table` writes 05_law.rules from two CSV files.

The CSV files are what people edit. The rule text is what is hashed and signed, so it has to hold the table.
"""

import csv
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

import bpc_worker.files

FILES = Path(bpc_worker.files.__file__).parent
POINTS = FILES / "law" / "points.csv"
ACTS = FILES / "law" / "acts.csv"
TEXT = FILES / "rule_packages" / "eu_battery" / "05_law.rules"

_WIDTH = 110
_HEAD = """\
-- The law's list: which data point is asked of which class of batteries, from which day on.
--
-- Written by `make law` from bpc_worker/files/law/points.csv and acts.csv: edit those.
--
-- A point whose acts are pending has no day: it stays not_yet until the act's day of adoption is entered.
-- Conditions are fields condition.<name>. `measured` and `facility_named` the rules find out themselves;
-- `in_use` and `has_predecessor` are false unless declared; any other that nobody declared is unknown.

law "Commission guidance v2.0 of 2026-08-15" by identity.class {
"""

Row = Mapping[str, str]


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text(points: Iterable[Row], acts: Iterable[Row]) -> str:
    """The block `law`: acts first, then each point with a row per class."""
    blocks = ["".join(f"  {_act(row)}\n" for row in acts)]
    blocks += [_point(list(rows)) for _, rows in groupby(points, key=lambda row: row["point"])]
    return _HEAD + "\n".join(blocks) + "}\n"


def _act(row: Row) -> str:
    state = f"adopted {row['adopted']}" if row["adopted"] else "pending"
    return f'act {row["act"]} "{row["title"]}" {state};'


def _point(rows: list[Row]) -> str:
    first = rows[0]
    lines = [
        f'point "{first["point"]}" "{first["name"]}"',
        *_fields(first["fields"].split()),
        f'  source "{first["source"]}" basis {first["basis"]} gate {first["gate"]}',
        f"  for {', '.join(first['audience'].split())} {{",
        *(f"  {row['class']}: {_asked(row)};" for row in rows),
        "};",
    ]
    return "".join(f"  {line}\n" for line in lines)


def _fields(paths: list[str]) -> list[str]:
    one = f"  fields ({', '.join(paths)})"
    if len(one) < _WIDTH:
        return [one]
    return ["  fields (", *(f"    {path}," for path in paths[:-1]), f"    {paths[-1]})"]


def _asked(row: Row) -> str:
    if not row["then"]:
        return row["before"]
    when = f" when {row['condition']}" if row["condition"] else ""
    until, then = f"{row['before']} until {_day(row)}", f"then {row['then']}{when}"
    return until + ("\n      " if row["act"] else " ") + then


def _day(row: Row) -> str:
    return f"max({row['from']}, {row['act']} + {row['months']} months)" if row["act"] else row["from"]


if __name__ == "__main__":
    TEXT.parent.mkdir(exist_ok=True)
    TEXT.write_text(text(read(POINTS), read(ACTS)), encoding="utf-8")
