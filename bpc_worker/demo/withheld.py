"""What the public view of a passport does not show: its maker knows, its reader cannot tell."""

from bpc_worker.core.passport.disclosures import from_lines, parse_disclosure

_SET = "of"  # the disclosure of a whole set, not of a field


def withheld(disclosures: bytes, view: str) -> list[str]:
    """The paths of what was disclosed to somebody and is not in this view."""
    shown = set(view.split("~"))
    names = [parse_disclosure(text).name for text in from_lines(disclosures) if text not in shown]
    return sorted(name for name in names if name != _SET)
