"""What commands print: words for people, lists and single things, JSON; and how they end."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TypeVar

import click

T = TypeVar("T")

EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_UNREACHABLE = 1, 2, 3, 69
_STORED_JSON = ("payload", "result", "last_error", "progress", "data")


def fail(code: int, *lines: str) -> NoReturn:
    for line in lines:
        click.echo(f"bpc-worker: {line}", err=True)
    raise SystemExit(code)


@contextmanager
def refused(
    error: type[Exception] | tuple[type[Exception], ...], *hints: str, what: str = "", code: int = EXIT_USAGE
) -> Iterator[None]:
    """Such an error of the work inside ends the command: what it says, behind `what`, and what to do."""
    try:
        yield
    except error as found:
        fail(code, f"{what}{getattr(found, 'strerror', None) or found}", *hints)


def tell(*lines: str) -> None:
    """On standard error: for people, never for programs."""
    for line in lines:
        click.echo(f"bpc-worker: {printable(line)}", err=True)


def printable(text: str) -> str:
    """For a terminal: text that others wrote cannot move the cursor or hide a line."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else ascii(letter)[1:-1] for letter in text
    )


def on_one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n").replace("\t", " ")


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def plain(value: object) -> object:
    """As JSON has it: times in UTC, bytes in hex, ids as text."""
    from datetime import date, datetime
    from uuid import UUID

    import msgspec

    from bpc_worker.core.base.forms import timestamp

    match value:
        case msgspec.Struct():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return value.hex()
        case datetime():
            return timestamp(value)
        case date():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value


def json_text(value: object) -> str:
    import json

    return json.dumps(plain(value), ensure_ascii=False)


def show_json(value: object) -> None:
    click.echo(json_text(value))


def json_line(record: object, **more: object) -> str:
    """One object on one line; JSON out of the database goes in as it is, to the last digit."""
    import msgspec

    def stored(value: object) -> object:
        if isinstance(value, dict):
            return {
                name: msgspec.Raw(each.encode())
                if name in _STORED_JSON and isinstance(each, str)
                else stored(each)
                for name, each in value.items()
            }
        return [stored(each) for each in value] if isinstance(value, list) else value

    shown = plain(record)
    merged = {**shown, **more} if isinstance(shown, dict) else more
    return msgspec.json.encode(stored({name: plain(value) for name, value in merged.items()})).decode()


def show_list(
    records: Sequence[T],
    line: Callable[[T], Sequence[object]],
    *,
    as_json: bool = False,
    encode: Callable[[T], str] = json_text,
    titles: Sequence[str] = (),
    limit: int | None = None,
    nothing: str = "",
) -> None:
    """One JSON object per line, or columns; their titles are for people at a terminal."""
    if as_json:
        for each in records:
            click.echo(encode(each))
    else:
        rows = [[_cell(cell) for cell in line(each)] for each in records]
        _show_columns([list(titles), *rows] if titles and rows and sys.stdout.isatty() else rows)
    tell_size(len(records), limit, nothing)


def _show_columns(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def tell_size(count: int, limit: int | None, nothing: str) -> None:
    """About a list: that it is empty, or may not be all."""
    if not count and nothing:
        tell(nothing)
    elif count == limit:
        tell(f"there may be more than these {limit}: say --limit")


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """One thing: a name and a value per line."""
    shown = [(name, _cell(value)) for name, value in fields]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        click.echo(f"{name:<{width}}  {value}")


def fields_of(record: object, *names: str) -> list[tuple[str, object]]:
    return [(name, getattr(record, name)) for name in names]


def _cell(value: object) -> str:
    shown = plain(value)
    return "-" if shown is None else on_one_line(str(shown))
