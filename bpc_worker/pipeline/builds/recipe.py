"""A folder with a passport.yaml: which battery, which rules, which file is what; all mistakes at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from bpc_worker.config.yaml import load_plain
from bpc_worker.core.base.hashing import sha256
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
from bpc_worker.files.reading import read_regular
from bpc_worker.jobs.errors import Code, Permanent

RECIPE = "passport.yaml"

_MAX_BYTES = 65_536
_OF_MANY = "SERIALS"  # a list of batteries is no part of one
_MOST_DOCUMENTS = 100
_MOST_PROBLEMS = 50
_NO_LAW_DATE = (
    "law_date is missing: the law of the day applies on which the battery is placed on the market; "
    "add a line like `law_date: 2028-08-18`"
)
_FORMATS = tuple(each for each in SPELLINGS if each is not None)


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
class Recipe:
    product: ProductEntry
    passport: str
    rules: str
    law_date: date
    documents: tuple[DocumentEntry, ...]


@dataclass(frozen=True, slots=True)
class Document:
    entry: DocumentEntry
    content: bytes

    @property
    def sha256(self) -> bytes:
        return sha256(self.content)


@dataclass(frozen=True, slots=True)
class Folder:
    recipe: Recipe
    documents: tuple[Document, ...]


def read_folder(folder: Path, *, document_bytes: int) -> Folder:
    """Everything the folder says, with all that is wrong with it at once."""
    path = folder / RECIPE
    problems = Problems(_MOST_PROBLEMS)
    recipe = _recipe(_loaded(path), folder, problems)
    if recipe is None:
        raise _refusal(path, problems)
    documents: list[Document] = []
    for entry in recipe.documents:
        try:
            documents.append(Document(entry, _content(folder, entry.file, document_bytes)))
        except ValueError as error:
            problems.add(entry.file, str(error))
    if problems:
        raise _refusal(folder, problems)
    return Folder(recipe, tuple(documents))


def read_mapping(path: Path) -> Mapping[str, object]:
    """A mapping.yaml; ValueError tells what is wrong with it."""
    found = load_plain(read_regular(path, _MAX_BYTES))
    if not isinstance(found, Mapping):
        raise Unfit("it is empty; say under names: which title means which name")
    titles(found)
    return found


def _loaded(path: Path) -> object:
    try:
        return load_plain(read_regular(path, _MAX_BYTES))
    except OSError as error:
        raise Permanent(Code.NOT_FOUND, f"{path}: {error.strerror}; it says which file is what") from error
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"{path}: {error}") from error


def _refusal(path: Path, problems: Problems) -> Permanent:
    listed = (
        f"{each.where}: {each.message}" if each.where else each.message
        for each in problems.rejected().problems
    )
    return Permanent(Code.VALIDATION_ERROR, f"{path}: " + "; ".join(listed))


def _recipe(told: object, folder: Path, problems: Problems) -> Recipe | None:
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
    documents = _documents(top, folder)
    if problems or product is None or passport is None or rules is None or law_date is None:
        return None
    return Recipe(
        product=product, passport=passport, rules=rules, law_date=law_date, documents=tuple(documents)
    )


def _product(top: Record) -> ProductEntry | None:
    product = top.inner("product")
    if product is None:
        return None
    product.only(("name", "identifier"))
    name, identifier = product.need("name", _text), product.need("identifier", _text)
    return None if name is None or identifier is None else ProductEntry(name=name, identifier=identifier)


def _documents(top: Record, folder: Path) -> list[DocumentEntry]:
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
    found = [entry for record in records if record is not None and (entry := _document(record, folder))]
    _check_twice(found, top.problems)
    return found


def _check_twice(found: Sequence[DocumentEntry], problems: Problems) -> None:
    names = [entry.file for entry in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.add("/documents", f"{name} is listed twice")


def _document(record: Record, folder: Path) -> DocumentEntry | None:
    record.only(("file", "kind", "mime_type", "number_format", "mapping", "attachment"))
    file = record.need("file", _text)
    kind = record.need("kind", _one_of([each for each in KINDS if each != _OF_MANY]))
    ending = of_attachment if kind == ATTACHMENT else by_ending
    mime_type = record.may("mime_type", _text) or (None if file is None else ending(file))
    number_format = record.may("number_format", _one_of(_FORMATS))
    mapping = record.may("mapping", lambda value: _mapping(value, folder))
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


def _mapping(value: object, folder: Path) -> Mapping[str, object]:
    name = _text(value)
    try:
        return read_mapping(_beside(folder, name))
    except OSError as error:
        raise Unfit(f"{quoted(name)}: {error.strerror}") from error
    except ValueError as error:
        raise Unfit(f"{quoted(name)}: {error}") from error


def _beside(folder: Path, name: str) -> Path:
    if "/" in name or "\0" in name or name in {"", ".", ".."}:
        raise ValueError("a document lies beside passport.yaml")
    return folder / name


def _content(folder: Path, name: str, limit: int) -> bytes:
    try:
        return read_regular(_beside(folder, name), limit)
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
