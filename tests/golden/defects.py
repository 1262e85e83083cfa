"""A fifth battery, with everything wrong that a document can have, and what has to be told of each."""

from pathlib import Path

from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.values import Fact
from bpc_worker.documents.model import Accepted, Declared, Rejected
from bpc_worker.documents.parse import parse_document

FOLDER = Path(__file__).parent / "defects"

# Documents that are refused: file, kind, number format, and a word of each problem with its place.
REFUSED = (
    (
        "bom.csv",
        "BOM",
        "1,234.56",
        (
            ("line 2, column 4", "0,520"),
            ("line 3, column 3", "7440-48-5"),
            ("line 4, column 4", "negative"),
            ("line 5, column 1", "stands already"),
        ),
    ),
    ("pcf.json", "PCF", None, (("/stages/total/kg_co2e", "total"),)),
    (
        "datasheet.csv",
        "DATA_SHEET",
        None,
        (
            ("line 2, column 1", "rated_capacity_ah"),
            ("line 3, column 2", "100 %"),
            ("line 4, column 2", "-273.15"),
            ("line 5, column 2", "kg"),
        ),
    ),
    (
        "due_diligence.json",
        "DUE_DILIGENCE",
        None,
        (("/period", "ends before it starts"), ("/report_url", "web address")),
    ),
)

# What is read, and cannot be used: the field that stays empty for each.
UNUSABLE = {
    "performance.voltage_nominal": "the nominal voltage lies between the lowest and the highest",
    "performance.idle_temperature_max": "the highest temperature lies below the lowest",
    "identity.manufacturing_month": "the month of manufacture lies after the placing on the market",
}


def problems(file: str, kind: str, number_format: str | None) -> dict[str, str]:
    """By place."""
    mime_type = "text/csv" if file.endswith(".csv") else "application/json"
    declared = Declared(kind=kind, mime_type=mime_type, number_format=number_format)
    found = parse_document((FOLDER / file).read_bytes(), declared)
    assert isinstance(found, Rejected), found
    return {each.where: each.message for each in found.problems}


def facts() -> list[Fact]:
    """Of two documents, each of which can be read: together they contradict each other."""
    declared = Declared(kind="OTHER", mime_type="application/json")
    found = [
        parse_document((FOLDER / file).read_bytes(), declared) for file in ("battery.json", "cells.json")
    ]
    return [
        make_fact(each.fact_type, each.fact_key, each.payload)
        for parsed in found
        if isinstance(parsed, Accepted)
        for each in parsed.facts
    ]
