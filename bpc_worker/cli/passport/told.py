"""What commands say of a passport that lacks something: what is missing, and which statements do not hold."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bpc_worker.cli._common.output import counted, on_one_line
from bpc_worker.cli.passport.gap_texts import NOT_CHECKED

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.passport.gaps import Report

_COMPLETENESS = "completeness.missing_required"  # the field of the shipped rules


def of_report(report: "Report") -> list[str]:
    """Of a version in the database, or of a bundle that was verified."""
    missing = _incomplete(sum(each.stops for each in report.gaps))
    first = [NOT_CHECKED] if report.law is None else missing
    return [*first, *(_unmet(each.severity, each.code, each.message) for each in report.findings)]


def of_view(fields: Mapping[str, object]) -> list[str]:
    """Of a view: what its audience may see of it."""
    from bpc_worker.core.passport.disclosures import STATEMENTS

    lines = _incomplete(fields.get(_COMPLETENESS))
    for path, value in sorted(fields.items()):
        if path.startswith(STATEMENTS):
            lines += _statement(path.removeprefix(STATEMENTS), value)
    return lines


def _incomplete(missing: object) -> list[str]:
    if not isinstance(missing, int) or not missing:
        return []
    return [f"incomplete: {counted(missing, 'required point')} missing"]


def _statement(code: str, stated: object) -> list[str]:
    match stated:
        case {"holds": False, "message": str(message), "severity": str(severity)}:
            return [_unmet(severity, code, message)]
        case _:
            return []


def _unmet(severity: str, code: str, message: str) -> str:
    return on_one_line(f"does not hold ({severity}): {code}: {message}")
