"""What commands print: errors with a next step, lists, and what is said about a list."""

import json
from datetime import date
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bpc_worker.cli._common.options import several
from bpc_worker.cli._common.output import EXIT_FAILED, json_text, refused, show_list


def test_an_error_of_the_system_is_told_without_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"), refused(OSError, "name another", what="--out x: "):
        (tmp_path / "nowhere").read_bytes()

    assert (
        capsys.readouterr().err
        == "bpc-worker: --out x: No such file or directory\nbpc-worker: name another\n"
    )


def test_other_errors_fly_on() -> None:
    with pytest.raises(ValueError, match="another"), refused(KeyError, code=EXIT_FAILED):
        raise ValueError("another")


def listed(*records: int, limit: int | None = None, as_json: bool = False) -> None:
    show_list(
        records,
        lambda each: [each, "x" * each, None],
        as_json=as_json,
        encode=lambda each: json_text({"number": each}),
        titles=("number", "x", "none"),
        limit=limit,
        nothing="nothing here",
    )


def test_a_list_is_columns_or_a_json_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    listed(1, 12)
    listed(1, 12, as_json=True)

    shown = capsys.readouterr()
    assert shown.out == '1   x             -\n12  xxxxxxxxxxxx  -\n{"number": 1}\n{"number": 12}\n'
    assert shown.err == ""


@pytest.mark.parametrize("as_json", [False, True])
def test_an_empty_list_and_a_full_one_say_so(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: FBT001
    listed(limit=2, as_json=as_json)
    listed(1, limit=2, as_json=as_json)
    listed(1, 2, limit=2, as_json=as_json)

    assert capsys.readouterr().err == (
        "bpc-worker: nothing here\nbpc-worker: there may be more than these 2: say --limit\n"
    )


def test_a_day_is_its_iso_form_in_json() -> None:
    assert json.loads(json_text({"law_date": date(2027, 2, 18)})) == {"law_date": "2027-02-18"}


def test_several_options_stand_in_the_order_in_which_they_are_given() -> None:
    @click.command()
    @several(click.option("--first"), several(click.option("--second"), click.option("--third")))
    def command(**_: object) -> None: ...

    shown = CliRunner().invoke(command, ["--help"]).output

    assert shown.index("--first") < shown.index("--second") < shown.index("--third")
