"""Battery Pass and Catena-X aspects to the fact `Aspect`: the document as it is, its numbers exact."""

import re
from collections.abc import Callable, Iterator

from bpc_worker.core.base.canonical_json import MAX_INTEGER
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit, pointer, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import text_of
from bpc_worker.documents.reading.json_text import Number
from bpc_worker.documents.reading.record import Record

_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt].*)?", re.DOTALL)
_BATTERY_PASS = re.compile(
    r"urn:(?:samm:)?io\.catenax\.battery\.battery_pass:[0-9]+\.[0-9]+\.[0-9]+(?:#\w+)?"
)


def battery_pass(name: str) -> Callable[[Record, Limits], list[FoundFact]]:
    """A reading of one aspect of the Battery Pass data model."""
    return lambda top, _: _aspect(name, top)


def catena_x(top: Record, _: Limits) -> list[FoundFact]:
    """The battery passport of Catena-X, which is one aspect."""
    top.need("specVersion", _spec_version)
    return _aspect("CatenaXBatteryPass", top)


def _aspect(name: str, top: Record) -> list[FoundFact]:
    for where, date in _dates(top.values, ()):
        _check_date(where, date, top.problems)
    payload = {key: _plain(value) for key, value in top.values.items()}
    return [
        FoundFact(
            fact_type="Aspect", fact_key=f"aspect:{name}", schema_version=1, payload=payload, pointer=top.here
        )
    ]


def _spec_version(value: object) -> str:
    found = readings.text(value)
    if not _BATTERY_PASS.fullmatch(found):
        raise Unfit(f"{quoted(found)} is not urn:io.catenax.battery.battery_pass:<version>")
    return found


def _plain(value: object) -> object:
    """As canonical JSON writes it: integers that are safe stay integers, other numbers become texts."""
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case Number(number, whole):
            return int(number) if whole and abs(number) <= MAX_INTEGER else text_of(number)
        case str() | bool():
            return value
        case _:
            return None


def _dates(value: object, steps: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Texts that are dates by the name of their member and by their look."""
    match value:
        case dict():
            for key, each in value.items():
                yield from _dates(each, (*steps, key))
        case list():
            for index, each in enumerate(value):
                yield from _dates(each, (*steps, index))
        case str() if "date" in str(steps[-1]).lower() and (found := _DATE.fullmatch(value)):
            yield steps, found[1]


def _check_date(steps: tuple[str | int, ...], date: str, problems: Problems) -> None:
    try:
        readings.day(date)
    except Unfit as unfit:
        problems.add(pointer(steps), str(unfit))
