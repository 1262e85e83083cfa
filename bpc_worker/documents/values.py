"""What a document says under a name of the vocabulary, checked, as a fact with the pointer to its place."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import PLAIN, Spelling, text_of
from bpc_worker.documents.reading.json_text import REFUSED, Number
from bpc_worker.documents.units import in_unit, without_unit
from bpc_worker.documents.vocabulary import Entry, Kind

NO_LANGUAGE = "und"
_LANGUAGE = re.compile("[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|[0-9]{3}))?")


def value_fact(name: str, value: object, pointer: str) -> FoundFact:
    """A fact `Value`; the value is one that `reading` of the name's entry gave."""
    return _fact("Value", name, {"value": value}, pointer)


def row_fact(fact_type: str, key: str, payload: Mapping[str, object], pointer: str) -> FoundFact:
    """A row of a list."""
    return _fact(fact_type, key, payload, pointer)


def reading(
    entry: Entry, limits: Limits, spelling: Spelling = PLAIN, unit: str = ""
) -> Callable[[object], object]:
    """What is kept of a value under this name, given in this unit; Unfit says why it cannot be taken."""
    if entry.kind is Kind.DECIMAL:
        return lambda value: text_of(_number(value, entry, limits, spelling, unit))
    take = _plain(entry, limits, spelling)

    def read(value: object) -> object:
        without_unit(unit)
        return take(value)

    return read


def _plain(entry: Entry, limits: Limits, spelling: Spelling) -> Callable[[object], object]:
    if entry.kind is Kind.CHOICE:
        return readings.one_of(entry.choices)
    if entry.kind is Kind.INTEGER:
        return lambda value: _count(value, limits, spelling)
    return _PLAIN[entry.kind]


def _count(value: object, limits: Limits, spelling: Spelling) -> int:
    if isinstance(value, str):
        found = readings.decimals(limits, spelling)(value)
        value = Number(found, whole=found == found.to_integral_value())
    return readings.whole(value)


def texts(value: object) -> dict[str, str]:
    """By language; one text alone, such as a link, is of none."""
    if isinstance(value, str):
        return {NO_LANGUAGE: readings.text(value)}
    if not isinstance(value, Mapping) or not value:
        wanted = 'a text, or texts by language such as {"en": "…", "de": "…"}'
        raise Unfit(f"{wanted}, is expected, found {readings.shown(value)}")
    return {language(tag): _in(tag, text) for tag, text in value.items()}


def language(tag: object) -> str:
    found = readings.text(tag)
    if not _LANGUAGE.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not the code of a language; write it like en, de or pt-BR")
    return found


def _in(tag: str, text: object) -> str:
    if text is REFUSED:
        raise Unfit(f"{tag} cannot be read")
    try:
        return readings.text(text)
    except Unfit as unfit:
        raise Unfit(f"{tag}: {unfit}") from None


def _number(value: object, entry: Entry, limits: Limits, spelling: Spelling, unit: str) -> Decimal:
    decimal = readings.decimals(limits, spelling)
    number = readings.percents(decimal) if entry.unit == "%" else decimal
    found = in_unit(number(value), unit, entry.unit)
    if entry.least is not None and found < entry.least:
        raise Unfit(f"{text_of(found)} is below {entry.least} {entry.unit}, which cannot be; correct it")
    if entry.most is not None and found > entry.most:
        raise Unfit(f"{text_of(found)} is above {entry.most} {entry.unit}, which cannot be; correct it")
    return found


_PLAIN: Mapping[Kind, Callable[[object], object]] = {
    Kind.BOOL: readings.flag,
    Kind.TEXT: readings.text,
    Kind.URL: readings.url,
    Kind.MONTH: readings.month,
    Kind.TEXTS: texts,
}


def _fact(fact_type: str, key: str, payload: Mapping[str, object], pointer: str) -> FoundFact:
    return FoundFact(fact_type=fact_type, fact_key=key, schema_version=1, payload=payload, pointer=pointer)
