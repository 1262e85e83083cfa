"""What `promtool check metrics` looks at, and a little more, where it cannot be had."""

import re
from collections import Counter
from itertools import pairwise

_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)')
_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")
_OTHER_UNITS = {"ms", "milliseconds", "minutes", "hours", "kb", "mb", "kilobytes", "megabytes", "percent"}
_IDS = {"job_id", "tenant_id", "worker_id", "id", "trace_id"}


def broken_rules(text: str) -> list[str]:
    """Each with the name it is about; none where the text is as it should be."""
    problems = [] if text.endswith("\n") else ["the last line ends without a new line"]
    helps: Counter[str] = Counter()
    types: dict[str, str] = {}
    samples: list[tuple[str, set[str]]] = []
    for line in text.splitlines():
        match line.split(" ", 3):
            case ["#", "HELP", name, words] if words:
                helps[name] += 1
            case ["#", "TYPE", name, kind]:
                problems += [f"{name}: said twice"] if name in types else []
                types[name] = kind
            case _:
                problems += _read_sample(line, samples)
    problems += [problem for name, kind in types.items() for problem in _about(name, kind, helps[name])]
    families = [_family(name, types) for name, _ in samples]
    problems += [f"{name}: no TYPE" for name in set(families) - types.keys()]
    problems += [f"{name}: no ids as labels" for name, labels in samples if labels & _IDS]
    runs = [family for family, after in pairwise([*families, ""]) if family != after]
    problems += [f"{name}: its samples do not stand together" for name, n in Counter(runs).items() if n > 1]
    return problems


def _read_sample(line: str, samples: list[tuple[str, set[str]]]) -> list[str]:
    found = _SAMPLE.fullmatch(line)
    labels = found["labels"] or "" if found else ""
    if found is None or _LABEL.sub("", labels):
        return [f"not a sample: {line}"]
    float(found["value"])
    samples.append((found["name"], {name for name, _ in _LABEL.findall(labels)}))
    return []


def _family(name: str, types: dict[str, str]) -> str:
    for ending in _OF_HISTOGRAMS:
        if name.endswith(ending) and types.get(name.removesuffix(ending)) == "histogram":
            return name.removesuffix(ending)
    return name


def _about(name: str, kind: str, helps: int) -> list[str]:
    words = set(name.split("_"))
    rules = {
        "no HELP": helps != 1,
        "a counter ends in _total": kind == "counter" and not name.endswith("_total"),
        "only a counter ends in _total": kind != "counter" and name.endswith("_total"),
        "_count belongs to histograms": name.endswith(_OF_HISTOGRAMS),
        "units are base units": bool(words & _OTHER_UNITS),
        "the name says its type": kind in words,
        "the name begins with bpc_": not name.startswith("bpc_"),
        "the name is lower case": name != name.lower(),
    }
    return [f"{name}: {rule}" for rule, broken in rules.items() if broken]
