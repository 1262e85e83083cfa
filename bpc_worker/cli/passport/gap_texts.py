"""A gap report as lines, and as JSON, CSV or HTML."""

import csv
import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from bpc_worker.cli._common.output import printable
from bpc_worker.documents.bringers import brought_by

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.passport.gaps import Gap

NOT_CHECKED = "not checked against the law's list: the rules have none"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 14px/1.4 sans-serif; margin: 2em }}
td, th {{ text-align: left; vertical-align: top; padding: .2em .6em }}
tr.missing td, tr.unread td {{ background: #fdd }}
tr.required {{ font-weight: bold }}
</style></head><body>
<h1>{title}</h1>
{about}
<table>
{rows}
</table>
</body></html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A point as it is shown; `batteries`: how many lack it."""

    point: str
    name: str
    standing: str
    state: str
    gate: str
    source: str
    basis: str
    detail: str
    brought_by: str
    batteries: int

    @property
    def is_open(self) -> bool:
        return self.state in {"missing", "unread"}

    @property
    def is_missing(self) -> bool:
        """Required, or nobody knows whether it is: what the gate looks at."""
        return self.is_open and self.gate == "stop" and self.standing in {"required", "condition_unknown"}


def line_of(gap: "Gap", batteries: int) -> Line:
    unknown = [f"whether it is asked hangs on {path}, which nobody declared" for path in gap.unknown]
    lacking = [f"{path}: {why}" for path, why in gap.lacking]
    paths = [*gap.unknown, *(path for path, _ in gap.lacking)]
    return Line(
        point=gap.point,
        name=gap.name,
        standing=str(gap.standing),
        state=str(gap.state),
        gate=gap.gate,
        source=gap.source,
        basis=gap.basis,
        detail="; ".join([*unknown, *lacking]),
        brought_by="; ".join(dict.fromkeys(found for path in paths if (found := brought_by(path)))),
        batteries=batteries,
    )


def as_json(about: Mapping[str, object], lines: Sequence[Line]) -> str:
    members = {**about, "points": [asdict(each) for each in lines]}
    return json.dumps(members, ensure_ascii=False, default=str) + "\n"


def as_csv(_: Mapping[str, object], lines: Sequence[Line]) -> str:
    written = io.StringIO(newline="")
    table = csv.writer(written, lineterminator="\r\n")
    table.writerow([each.name for each in fields(Line)])
    table.writerows([_cell(cell) for cell in asdict(each).values()] for each in lines)
    return written.getvalue()


def _cell(value: object) -> str:
    """A spreadsheet runs what begins like a formula: details hold suppliers' words."""
    text = printable(str(value))
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text


def as_html(about: Mapping[str, object], lines: Sequence[Line]) -> str:
    names = [each.name for each in fields(Line)]
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in names)
    told = "".join(f"<p>{_safe(name)}: {_safe(value)}</p>" for name, value in about.items() if value)
    rows = "\n".join(f'<tr class="{each.state} {each.standing}">{_cells(each)}</tr>' for each in lines)
    title = f"What the law asks for: {_safe(about['of'])}"
    return _PAGE.format(title=title, about=told, rows=f"<tr>{head}</tr>\n{rows}")


def _cells(line: Line) -> str:
    return "".join(f"<td>{_safe(value)}</td>" for value in asdict(line).values())


def _safe(value: object) -> str:
    return html.escape(printable(str(value)))
