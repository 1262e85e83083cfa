"""What goes in and what comes out: a sender's words, limits, facts with their places, or problems."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from bpc_worker.core.rules.facts import MAX_DEPTH

VALIDATION_ERROR = "VALIDATION_ERROR"
PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"

KINDS = ("BOM", "PCF", "DUE_DILIGENCE", "DATA_SHEET", "SERIALS", "MEASUREMENTS", "ATTACHMENT", "OTHER")
OF_ITEMS = ("SERIALS", "MEASUREMENTS")  # each row is about a battery of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the sender says about a document."""

    kind: str  # one of KINDS
    mime_type: str
    number_format: str | None = None  # of a CSV: "1.234,56" or "1,234.56"; None: 1234.56
    # Of a table: what the sender's own titles mean; of an attachment: what it is.
    mapping: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    json_depth: int = 64
    json_values: int = 200_000
    string_bytes: int = 1024 * 1024
    csv_rows: int = 200_000
    csv_columns: int = 500
    cell_bytes: int = 32 * 1024
    xlsx_bytes: int = 128 * 1024 * 1024  # of a workbook when it is unpacked
    xlsx_parts: int = 1_000
    xlsx_texts: int = 32 * 1024 * 1024  # characters that its cells share
    digits: int = 50  # significant ones
    exponent: int = 50  # of the scientific notation, either way
    problems: int = 100  # that are listed one by one

    def __post_init__(self) -> None:
        if self.json_depth > MAX_DEPTH:
            raise ValueError(f"json_depth is at most {MAX_DEPTH}: deeper values have no place in a fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFact:
    fact_type: str
    fact_key: str
    schema_version: int
    payload: Mapping[str, object]  # canonical JSON can write it: decimals are texts
    pointer: str  # "/components/3" in JSON, "4:1" (line:column) in CSV, "" for the whole document
    item: str | None = None  # the serial of the battery that it is about, where the document names several


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    where: str  # "/stages/production", "line 4, column 3", or "" for the whole document
    message: str  # what is wrong, and what to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    facts: tuple[FoundFact, ...]
    refused: tuple[Problem, ...] = ()  # single values that were not taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    code: str  # VALIDATION_ERROR or PAYLOAD_TOO_LARGE
    problems: tuple[Problem, ...]


Parsed: TypeAlias = Accepted | Rejected
