"""What a passport.yaml says: which battery, which rules, which file is what; all mistakes at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bpc_worker.config.yaml import load_plain
from bpc_worker.documents.attachment_kinds import ATTACHMENT
from bpc_worker.documents.attachments import described
from bpc_worker.documents.mapping import titles
from bpc_worker.documents.mime_types import by_ending, of_attachment
from bpc_worker.documents.model import KINDS
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import SPELLINGS
from bpc_worker.documents.reading.record import Record, json_record
from bpc_worker.domain.ingesting import mapping_text

MAX_BYTES = 65_536  # of the text, and of a mapping

OF_MANY = "SERIALS"  # a list of batteries is no part of one
_MOST_DOCUMENTS = 100
_NO_LAW_DATE = (
    "law_date is missing: the law of the day applies on which the battery is placed on the market; "
    "add a line like `law_date: 2028-08-18`"
)
_FORMATS = tuple(each for each in SPELLINGS if each is not None)
_OF_DOCUMENT = ("file", "kind", "mime_type", "number_format", "mapping", "attachment")

# The bytes of a file by its name, and no more than so many; OSError or ValueError tells why not.
ReadFile = Callable[[str, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductEntry:
    name: str
    identifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentEntry:
    file: str
    kind: str
    mime_type: str
    number_format: str | None = None
    mapping: Mapping[str, object] | None = None

    @property
    def mapping_text(self) -> str | None:
        return mapping_text(self.mapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEntry:
    """A document that was sent before; what is not said is as it was sent."""

    document: str
    file: str | None = None
    kind: str | None = None
    mime_type: str | None = None
    number_format: str | None = None
    mapping: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    product: ProductEntry
    passport: str
    rules: str
    law_date: date
    documents: tuple[DocumentEntry | SentEntry, ...]


def read_recipe(
    told: object, read_file: ReadFile, problems: Problems, *, may_be_sent: bool = False
) -> Recipe | None:
    """None where something is wrong with it. `may_be_sent`: documents may be named that were sent before."""
    top = json_record(told, "", problems)
    if top is None:
        return None
    top.only(("product", "passport", "rules", "law_date", "documents"))
    product = _product(top)
    passport, rules = top.need("passport", _text), top.need("rules", _text)
    law_date = None
    if top.values.get("law_date") is None:
        problems.add("", _NO_LAW_DATE)
    else:
        law_date = top.need("law_date", _date)
    documents = _documents(top, read_file, may_be_sent=may_be_sent)
    if problems or product is None or passport is None or rules is None or law_date is None:
        return None
    return Recipe(
        product=product, passport=passport, rules=rules, law_date=law_date, documents=tuple(documents)
    )


def mapping_of(text: bytes) -> Mapping[str, object]:
    """What a mapping.yaml says; ValueError tells what is wrong with it."""
    found = load_plain(text)
    if not isinstance(found, Mapping):
        raise Unfit("it is empty; say under names: which title means which name")
    titles(found)
    return found


def _product(top: Record) -> ProductEntry | None:
    product = top.inner("product")
    if product is None:
        return None
    product.only(("name", "identifier"))
    name, identifier = product.need("name", _text), product.need("identifier", _text)
    return None if name is None or identifier is None else ProductEntry(name=name, identifier=identifier)


def _documents(top: Record, read_file: ReadFile, *, may_be_sent: bool) -> list[DocumentEntry | SentEntry]:
    listed = top.values.get("documents")
    if not listed:
        top.problems.add("/documents", "no documents are listed")
        return []
    if not isinstance(listed, list):
        top.problems.add("/documents", "a list is expected, each with file and kind")
        return []
    if len(listed) > _MOST_DOCUMENTS:
        message = f"{len(listed)} documents are listed, {_MOST_DOCUMENTS} at most"
        top.problems.add("/documents", message)
        return []
    records = [json_record(each, f"/documents/{index}", top.problems) for index, each in enumerate(listed)]
    found: list[DocumentEntry | SentEntry] = []
    for record in filter(None, records):
        is_sent = may_be_sent and "document" in record.values
        entry = _sent(record, read_file) if is_sent else _document(record, read_file, may_be_sent=may_be_sent)
        found += [] if entry is None else [entry]
    for name in named_twice([entry.file for entry in found if entry.file is not None]):
        top.problems.add("/documents", f"{name} is listed twice")
    return found


def named_twice(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _sent(record: Record, read_file: ReadFile) -> SentEntry | None:
    record.only(("document", *_OF_DOCUMENT))
    document, kind = record.need("document", _text), record.may("kind", _kind_of_one)
    mapping = record.may("mapping", lambda value: _mapping(value, read_file))
    if "attachment" in record.values:
        mapping = record.need("attachment", lambda value: described({"attachment": value}).mapping)
    if document is None:
        return None
    return SentEntry(
        document=document,
        file=record.may("file", _text),
        kind=kind,
        mime_type=record.may("mime_type", _text),
        number_format=record.may("number_format", _one_of(_FORMATS)),
        mapping=mapping,
    )


def _document(record: Record, read_file: ReadFile, *, may_be_sent: bool) -> DocumentEntry | None:
    record.only(("document", *_OF_DOCUMENT) if may_be_sent else _OF_DOCUMENT)
    file = record.need("file", _text)
    kind = record.need("kind", _kind_of_one)
    ending = of_attachment if kind == ATTACHMENT else by_ending
    mime_type = record.may("mime_type", _text) or (None if file is None else ending(file))
    number_format = record.may("number_format", _one_of(_FORMATS))
    mapping = record.may("mapping", lambda value: _mapping(value, read_file))
    if kind == ATTACHMENT:
        mapping = record.need("attachment", lambda value: described({"attachment": value}).mapping)
    if file is not None and mime_type is None and "mime_type" not in record.values:
        message = f"mime_type is missing: the ending of {quoted(file)} does not tell what it is; add it"
        record.problems.add(record.here, message)
    if file is None or kind is None or mime_type is None:
        return None
    return DocumentEntry(
        file=file, kind=kind, mime_type=mime_type, number_format=number_format, mapping=mapping
    )


def _text(value: object) -> str:
    if isinstance(value, int | float | date):
        raise Unfit(f"YAML takes {value} for a {_kind(value)}; put it in quotes")
    return readings.text(value)


def _kind(value: object) -> str:
    return "date" if isinstance(value, date) else "yes or no" if isinstance(value, bool) else "number"


def _date(value: object) -> date:
    return value if type(value) is date else date.fromisoformat(readings.day(value))


def _one_of(words: Sequence[str]) -> Callable[[object], str]:
    reading = readings.one_of(words)
    return lambda value: reading(_text(value))


def _kind_of_one(value: object) -> str:
    return _one_of([each for each in KINDS if each != OF_MANY])(value)


def _mapping(value: object, read_file: ReadFile) -> Mapping[str, object]:
    """Beside the recipe under its name, or in it."""
    if isinstance(value, Mapping):
        titles(value)
        return value
    name = _text(value)
    try:
        return mapping_of(read_file(name, MAX_BYTES))
    except OSError as error:
        raise Unfit(f"{quoted(name)}: {error.strerror}") from error
    except ValueError as error:
        raise Unfit(f"{quoted(name)}: {error}") from error
