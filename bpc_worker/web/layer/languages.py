"""The texts of pages, a file for each language and beside it one in the folder of each door; another language
is other files.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Final

MAIN: Final = "en"


class Language:
    def __init__(self, tag: str, texts: Mapping[str, str], otherwise: Mapping[str, str]) -> None:
        self.tag = tag
        self._own = texts
        self._texts = {**otherwise, **texts}

    def text(self, name: str, /, **values: object) -> str:
        """KeyError where no language has it."""
        return self._texts[name].format_map({key: str(each) for key, each in values.items()})

    @property
    def in_order(self) -> tuple[str, ...]:
        """The names of its texts, as the files of the main language have them."""
        return tuple(self._texts)

    def has(self, name: str) -> bool:
        return name in self._texts

    def names(self) -> frozenset[str]:
        """Of what it says itself."""
        return frozenset(self._own)

    def places(self, name: str) -> frozenset[str | None]:
        """The names of values in a text."""
        return frozenset(
            field for _, field, _, _ in Formatter().parse(self._texts[name]) if field is not None
        )


@cache
def all_languages() -> Mapping[str, Language]:
    """By their tags, English first."""
    root = files("bpc_worker.web") / "texts"
    found: dict[str, dict[str, str]] = {}
    for folder in (root, *(each for each in root.iterdir() if each.is_dir())):
        for each in folder.iterdir():
            if each.name.endswith(".toml"):
                texts = found.setdefault(each.name.removesuffix(".toml"), {})
                texts |= _flat(tomllib.loads(each.read_text(encoding="utf-8")))
    tags = [MAIN, *sorted(found.keys() - {MAIN})]
    return {tag: Language(tag, found[tag], found[MAIN]) for tag in tags}


def choose(wanted: Sequence[str]) -> Language:
    known = all_languages()
    return next((known[tag] for tag in wanted if tag in known), known[MAIN])


def _flat(table: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = str(value)
    return found
