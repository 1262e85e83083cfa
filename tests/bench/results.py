"""What a row found: figures of one run, ratios between them, and the goals these are held against."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One value per round, of one entrant."""

    name: str
    unit: str
    values: tuple[float, ...]
    settings: str = ""

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.values), max(self.values)

    def over(self, other: "Figure") -> float:
        """The median of the rounds' ratios: what slowed a round down slowed both."""
        pairs = zip(self.values, other.values, strict=True)
        return median(mine / theirs for mine, theirs in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Exactly one of `at_least` and `at_most` is given."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""

    @property
    def met(self) -> bool:
        if self.at_least is not None:
            return self.value >= self.at_least
        assert self.at_most is not None
        return self.value <= self.at_most

    @property
    def wanted(self) -> str:
        sign, limit = ("≥", self.at_least) if self.at_least is not None else ("≤", self.at_most)
        return f"{sign} {limit:g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A row of the bench: what was counted, by whom, and what it should have been."""

    title: str
    counted: str
    figures: Sequence[Figure]
    goals: Sequence[Goal] = ()
    left_out: Sequence[str] = field(default_factory=tuple)


class Rounds:
    """Collects what the entrants did, round by round."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], list[float]] = {}
        self._settings: dict[str, str] = {}

    def add(self, name: str, unit: str, value: float, settings: str = "") -> None:
        self._values.setdefault((name, unit), []).append(value)
        self._settings.setdefault(name, settings)

    def figures(self) -> list[Figure]:
        return [
            Figure(name=name, unit=unit, values=tuple(values), settings=self._settings[name])
            for (name, unit), values in self._values.items()
        ]

    def __getitem__(self, key: tuple[str, str]) -> Figure:
        name, unit = key
        return Figure(name=name, unit=unit, values=tuple(self._values[key]), settings=self._settings[name])


def p50(samples: Sequence[float]) -> float:
    return median(samples)


def p95(samples: Sequence[float]) -> float:
    return quantiles(samples, n=20, method="inclusive")[18]


def p99(samples: Sequence[float]) -> float:
    return quantiles(samples, n=100, method="inclusive")[98]
