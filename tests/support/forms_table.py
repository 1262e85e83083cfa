"""The tables of docs/forms.md, made from the forms themselves.

`python -m tests.support.forms_table` writes them anew between their marks.
"""

from collections.abc import Iterator
from pathlib import Path

from bpc_worker.documents.formats import battery_pass, battery_pass_ready, catena_x, footprints, idta
from bpc_worker.documents.formats.form import Form

PAGE = Path(__file__).parents[2] / "docs" / "forms.md"
FORMS = (*battery_pass.FORMS, *battery_pass_ready.FORMS, *idta.FORMS, *catena_x.FORMS, footprints.FORMS[-1])


def tables() -> str:
    return "\n\n".join("\n".join(_table(form)) for form in FORMS)


def _table(form: Form) -> Iterator[str]:
    yield f"### {form.name}\n"
    yield "| path | here |"
    yield "|---|---|"
    for cell in form.cells:
        yield f"| `{cell.path}` | {'Measured ' if cell.at else ''}{cell.name} |"
    for rows in form.rows:
        version = f" {rows.fixed['form']}:" if "form" in rows.fixed and rows.when else ""
        for member in rows.members:
            path = "/".join(filter(None, (rows.path, member.path)))
            yield f"| `{path}` |{version} {rows.fact_type} {member.name} |"


def with_tables(page: str) -> str:
    begin, end = "<!-- forms -->\n", "\n<!-- /forms -->"
    before, _, rest = page.partition(begin)
    return f"{before}{begin}{tables()}{end}{rest.partition(end.lstrip())[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
