"""What a place in the inbox means: TENANT/KIND/file is a document, a TENANT/folder with a recipe a build."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from fnmatch import fnmatchcase

from bpc_worker.documents.model import KINDS

DONE, REJECTED = "done", "rejected"
DECLARATION = "inbox.yaml"  # in a kind's folder: what is said of all its files

Place = tuple[str, ...]  # the names on the way from the inbox


class Meaning(Enum):
    INSIDE = auto()  # look into it
    DOCUMENT = auto()
    FOLDER = auto()  # a build, once its passport.yaml is there
    STRAY = auto()  # a file where nothing says what it is
    TOO_DEEP = auto()  # a folder in a kind's folder
    NOTHING = auto()  # leave it alone


def meaning(place: Place, *, is_folder: bool) -> Meaning:
    """What begins with a dot means nothing."""
    if place[-1].startswith(".") or place[0] in {DONE, REJECTED}:
        return Meaning.NOTHING
    match len(place), is_folder:
        case ((1 | 2), False):
            return Meaning.STRAY
        case 1, True:
            return Meaning.INSIDE
        case 2, True:
            return Meaning.FOLDER if kind_of(place) is None else Meaning.INSIDE
        case _, False:
            return Meaning.NOTHING if place[-1] == DECLARATION else Meaning.DOCUMENT
        case _:
            return Meaning.TOO_DEEP


def kind_of(place: Place) -> str | None:
    """The kind that a place below a tenant's folder names."""
    kind = place[1].upper() if len(place) > 1 else ""
    return kind if kind in KINDS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which names are taken. A pattern with a slash is held against the whole place, else the name."""

    include: Sequence[str] = ("*",)
    exclude: Sequence[str] = ()

    def file(self, place: Place) -> bool:
        return _matches(place, self.include) and not _matches(place, self.exclude)

    def folder(self, place: Place) -> bool:
        return not _matches(place, self.exclude)


def _matches(place: Place, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase("/".join(place) if "/" in pattern else place[-1], pattern) for pattern in patterns)


def shown(place: Place) -> str:
    """For people and logs: what cannot be printed is escaped."""
    text = "/".join(place)
    return text if text.isprintable() else text.encode("unicode_escape", "surrogatepass").decode()
