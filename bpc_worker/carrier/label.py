"""One battery's label: what is on it, whatever its template."""

from collections.abc import Mapping
from dataclasses import dataclass

METALS = ("Cd", "Pb")  # more than 0.002 % cadmium, more than 0.004 % lead (Article 13(5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    name: str  # of its files
    identifier: str  # the URL in the code
    values: Mapping[str, str]  # what a template may name: identifier, serial, capacity ...
    metals: tuple[str, ...] = ()
