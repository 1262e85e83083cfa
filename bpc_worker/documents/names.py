"""Which name of the vocabulary a title means: the name, its last part, its words, or an older name of it."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from bpc_worker.documents.problems import quoted
from bpc_worker.documents.vocabulary import VALUES, Entry

_BETWEEN_WORDS = re.compile(r"[\W_]+")
_UNIT = re.compile(r"(?P<title>.*\S)\s*(?:\[(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\))", re.DOTALL)
_UNIT_ENDING = re.compile(r"_(?:kg|t|ah|v|c|w|kwh|mohm|pct|per_h|months|years|pct_per_month)$")
_NEAR = 0.75
_LOOKED_AT = 100  # characters
# Of the other groups, the last part alone says too little: a "name" may be anything's.
_PLAIN_GROUPS = frozenset({"identity", "condition", "composition", "performance"})

_OLDER = {
    "manufacturer": "manufacturer.name",
    "manufacturing_date": "identity.manufacturing_month",
    "v_min": "performance.voltage_min_v",
    "v_nom": "performance.voltage_nominal_v",
    "v_max": "performance.voltage_max_v",
    "t_idle_min": "performance.idle_temperature_min_c",
    "t_idle_max": "performance.idle_temperature_max_c",
    "third_party_assurance": "due_diligence.assurance",
}


def normal(title: str) -> str:
    """Upper and lower case, blanks and brackets do not matter."""
    return _BETWEEN_WORDS.sub("_", title.lower()).strip("_")


def with_unit(title: str) -> tuple[str, str]:
    """`Mass [g]` is Mass, in g."""
    found = _UNIT.fullmatch(title.strip())
    return (title.strip(), "") if found is None else (found["title"], found["square"] or found["round"])


def named(title: str) -> tuple[Entry | None, str]:
    """The entry that a title means, and the unit that it says; `Rated capacity [mAh]` says both."""
    base, unit = with_unit(title)
    whole = _ALIASES.get(normal(title))
    if whole is not None:
        return whole, unit
    return _ALIASES.get(normal(base)), unit


def advice(title: str) -> str:
    """The names that are near to a title that means nothing."""
    word = normal(with_unit(title)[0])[:_LOOKED_AT]
    same = [name for name in VALUES if word in _last(name)]
    near = get_close_matches(word, _ALIASES, n=2, cutoff=_NEAR)
    offered = " or ".join(same or dict.fromkeys(_ALIASES[each].name for each in near))
    if offered:
        return f"{quoted(title)} is not known here; did you mean {offered}?"
    return f"{quoted(title)} is not known here; name what it is in mapping.yaml, or leave it out"


def _last(name: str) -> tuple[str, str]:
    """Without its group, with and without its unit."""
    last = name.rpartition(".")[2]
    return last, _UNIT_ENDING.sub("", last)


def _aliases() -> dict[str, Entry]:
    """A short title that two entries share means none of them."""
    found: dict[str, set[str]] = {}
    for entry in VALUES.values():
        short = _last(entry.name) if entry.name.partition(".")[0] in _PLAIN_GROUPS else ()
        for title in {*short, normal(entry.words)}:
            found.setdefault(title, set()).add(entry.name)
    clear = {title: VALUES[next(iter(names))] for title, names in found.items() if len(names) == 1}
    whole = {
        normal(title): entry
        for entry in VALUES.values()
        for title in (entry.name, _UNIT_ENDING.sub("", entry.name))
    }
    return clear | whole | {title: VALUES[name] for title, name in _OLDER.items()}


_ALIASES: Mapping[str, Entry] = _aliases()
