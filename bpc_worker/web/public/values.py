"""Values of a view as a person reads them. Numbers stay texts: not a digit is lost or made up."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bpc_worker.web.layer.languages import Language

_NARROW: Final = "\u202f"  # a narrow blank that does not break
_LONG: Final = 5  # digits, from where on they are grouped
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_LINK = re.compile(r"https?://[^\s<>\"']+")
_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_UNITS: Final[Mapping[str, str]] = {
    "pct": "%", "degC": "°C", "mOhm": "mΩ", "Ohm": "Ω", "per_h": "1/h", "kgCO2e": "kg CO₂e",
    "tCO2e": "t CO₂e", "gCO2e": "g CO₂e", "kgCO2e_per_kWh": "kg CO₂e/kWh", "W_per_Wh": "W/Wh",
    "pct_per_month": "%/month",
}  # fmt: skip
# Of the Union and its neighbours: so that a record is not taken for a text in several languages.
_LANGUAGES: Final = frozenset(
    (
        "und", "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "hr", "hu", "is", "it",
        "lb", "lt", "lv", "mt", "nl", "no", "nb", "nn", "pl", "pt", "ro", "sk", "sl", "sv", "sq", "sr",
        "tr", "uk",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """`kind`: text, link, yes, no, empty, number, list, table. What a template shows of it."""

    kind: str
    text: str = ""
    unit: str = ""
    language: str | None = None
    items: Sequence["Part"] = ()
    titles: Sequence[str] = ()
    rows: Sequence[Sequence["Part"]] = ()


def part_of(value: object, language: Language) -> Part:
    match value:
        case bool():
            return Part("yes" if value else "no", language.text("value.yes" if value else "value.no"))
        case int():
            return Part("number", number(str(value), language))
        case str():
            return Part("link" if _LINK.fullmatch(value) else "text", value)
        case None:
            return Part("empty", language.text("value.none"))
        case list():
            return _list(value, language)
        case dict():
            return _object(value, language)
        case _:
            return Part("text", str(value))


def _object(value: Mapping[str, object], language: Language) -> Part:
    members = value.keys()
    if members == {"value", "unit"} and isinstance(value["value"], str) and isinstance(value["unit"], str):
        return Part("number", number(value["value"], language), unit(value["unit"], language))
    if {"empty", "reason"} <= members <= {"empty", "reason", "detail"}:
        said = [str(value[each]) for each in ("reason", "detail") if each in value]
        return Part("empty", _reason(": ".join(said), language))
    if members and all(_is_language(each) and isinstance(value[each], str) for each in members):
        return _in_language(value, language)
    titles = list(members)
    return Part("table", titles=[word(each, language) for each in titles],
                rows=[[part_of(value[each], language) for each in titles]])  # fmt: skip


def _reason(said: str, language: Language) -> str:
    """In the language of the page, where it is one of the usual ones."""
    name = "reason." + re.sub(r"[^a-z]+", "_", said.lower()).strip("_")
    return language.text(name) if language.has(name) else said


def _is_language(name: str) -> bool:
    return _TAG.fullmatch(name) is not None and name.partition("-")[0] in _LANGUAGES


def _in_language(value: Mapping[str, object], language: Language) -> Part:
    """In that of the page, else in English, else in the first there is."""
    chosen = next((each for each in (language.tag, "en", *value) if each in value), "en")
    text = str(value[chosen])
    kind = "link" if _LINK.fullmatch(text) else "text"
    return Part(kind, text, language=None if chosen in {language.tag, "und"} else chosen)


def _list(value: Sequence[object], language: Language) -> Part:
    if not value:
        return Part("empty", language.text("value.nothing"))
    records = [each for each in value if isinstance(each, dict)]
    if len(records) < len(value):
        return Part("list", items=[part_of(each, language) for each in value])
    titles = list(dict.fromkeys(name for each in records for name in each))
    rows = [[part_of(each.get(name), language) for name in titles] for each in records]
    return Part("table", titles=[word(each, language) for each in titles], rows=rows)


def number(text: str, language: Language) -> str:
    """The same digits, in groups of three where there are many, with the language's own decimal sign."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    sign, whole, fraction = found.groups()
    if len(whole) >= _LONG:
        head = len(whole) % 3
        groups = [whole[:head]] if head else []
        whole = _NARROW.join(groups + [whole[at : at + 3] for at in range(head, len(whole), 3)])
    minus = "\u2212" if sign else ""
    return f"{minus}{whole}" + (f"{language.text('value.decimal')}{fraction}" if fraction else "")


def unit(name: str, language: Language) -> str:
    known = f"unit.{name}"
    return language.text(known) if language.has(known) else _UNITS.get(name, name)


def word(name: str, language: Language) -> str:
    """What a name in the passport is called."""
    known = f"word.{name}"
    return language.text(known) if language.has(known) else name.replace("_", " ").capitalize()
