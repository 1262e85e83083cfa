"""Who may see a field of a passport: names, each with what gives it the right. Data, not code.

A set per field, not a ladder: nobody is included in anybody else. A rule text uses these names, or declares
which of them it uses; another audience is another row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

PUBLIC = "public"
NOBODY = "nobody"  # a field for nobody is in payload and proof, and in no view


@dataclass(frozen=True, slots=True)
class Audience:
    """`formerly`: in passports that were made before the name, what these may see."""

    basis: str
    formerly: tuple[str, ...] = ()


AUDIENCES: Mapping[str, Audience] = MappingProxyType(
    {
        PUBLIC: Audience("Art. 77(2), Annex XIII point 1"),
        "legitimate_interest": Audience("Art. 77(2), Annex XIII points 2 and 4"),
        "authorities": Audience("Art. 77(2), Annex XIII points 2 and 3"),
        "commission": Audience("Art. 77(2), Annex XIII points 2 and 3"),
    }
)
EVERYBODY = tuple(sorted(AUDIENCES))


def seen_as(name: str, known: Iterable[str], table: Mapping[str, Audience] = AUDIENCES) -> tuple[str, ...]:
    """The audiences of a passport that `name` stands for in it: itself, or those it was before it had a name.

    Empty where the passport has nothing for it.
    """
    names = frozenset(known)
    if name in names:
        return (name,)
    former = table[name].formerly if name in table else ()
    return tuple(sorted(names.intersection(former)))
