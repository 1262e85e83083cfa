"""What a supplier's own titles mean: the content of a `mapping.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from bpc_worker.documents.names import normal
from bpc_worker.documents.problems import Unfit, quoted
from bpc_worker.documents.vocabulary import LISTS, VALUES

IGNORED = "ignore"
_MOST = 1_000
_LONGEST = 200  # characters
# Columns of tables, besides the members of lists.
_COLUMNS = (
    "name", "value", "unit", "language", "mass", "mass_g", "stage", "kg_co2e", "report_url", "period",
    "third_party_assurance",
)  # fmt: skip
TARGETS = frozenset(
    {
        *VALUES,
        *_COLUMNS,
        IGNORED,
        *(each.rstrip("?") for members in LISTS.values() for each in members.split()),
    }
)
_SHAPE = "names: {title of the supplier: name here}, sheets: [title of a sheet]"


@dataclass(frozen=True, slots=True)
class Titles:
    """Titles as they are compared, with the names they mean; which sheets of a workbook are read."""

    names: Mapping[str, str] = field(default_factory=dict)
    sheets: tuple[str, ...] = ()  # none: all of them

    def meant(self, title: str) -> str:
        """The name that is meant, the title itself if nothing is said of it, "" where it is to be ignored."""
        name = self.names.get(normal(title), title)
        return "" if name == IGNORED else name


def titles(said: object) -> Titles:
    """From what the sender's file says; Unfit tells what is wrong with it."""
    if said is None:
        return Titles()
    if not isinstance(said, Mapping) or not said or not {"names", "sheets"}.issuperset(said):
        raise Unfit(f"the mapping must hold {_SHAPE}")
    return Titles(_names(said.get("names", {})), _sheets(said.get("sheets", [])))


def _names(said: object) -> dict[str, str]:
    if not isinstance(said, Mapping) or len(said) > _MOST:
        raise Unfit(f"names must hold at most {_MOST} titles, each with the name that it means here")
    found: dict[str, str] = {}
    for title, name in said.items():
        if not isinstance(title, str) or not normal(title) or len(title) > _LONGEST:
            raise Unfit(f"names: {quoted(str(title))} is no title of 1 to {_LONGEST} characters")
        if not isinstance(name, str) or name not in TARGETS:
            raise Unfit(f"names: {quoted(title)} means {quoted(str(name))}, which {_nearest(name)}")
        if found.setdefault(normal(title), name) != name:
            raise Unfit(f"names: {quoted(title)} is said to mean {found[normal(title)]} and {name}; keep one")
    return found


def _sheets(said: object) -> tuple[str, ...]:
    if not isinstance(said, list) or len(said) > _MOST or not all(isinstance(each, str) for each in said):
        raise Unfit(f"sheets must be a list of at most {_MOST} titles of sheets")
    return tuple(said)


def _nearest(name: object) -> str:
    near = get_close_matches(str(name)[:_LONGEST], sorted(TARGETS), n=1)
    known = f"did you mean {near[0]}?" if near else "docs/documents.md lists the names"
    return f"is no name here; {known} To pass a title over, write {IGNORED}"
