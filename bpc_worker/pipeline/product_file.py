"""A table of products (CSV) as what is said of each, with all that is wrong with it at once."""

from bpc_worker.core.base.gs1 import Gs1Error, gtin14
from bpc_worker.documents.mapping import Titles
from bpc_worker.documents.model import Limits
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.encodings import decoded
from bpc_worker.documents.reading.record import Record
from bpc_worker.documents.reading.table import csv_sheet, lines
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.products import ProductData

_NEEDED = ("identifier", "name")
_OTHERS = ("model_identifier", "commodity_code", "operator", "facility")


def read_products(content: bytes) -> list[ProductData]:
    """In the order of the file; identifier and name are needed, an empty cell says nothing."""
    limits = Limits(csv_rows=100_000)
    problems = Problems(limits.problems)
    text = decoded(content, problems)
    names = {column: column for column in (*_NEEDED, "gtin", *_OTHERS)}
    found: dict[str, ProductData] = {}
    sheet = csv_sheet(text or "", Titles(), limits, problems)
    for line in () if text is None else lines(sheet, names, lambda _: _NEEDED, problems):
        product = _product(line.record)
        if product is not None and found.setdefault(product.identifier, product) is not product:
            problems.add(line.record.where("identifier"), f"{quoted(product.identifier)} is there twice")
    if problems:
        rejected = problems.rejected()
        listed = "; ".join(f"{each.where}: {each.message}".removeprefix(": ") for each in rejected.problems)
        raise Permanent(rejected.code, listed)
    return list(found.values())


def _product(record: Record) -> ProductData | None:
    identifier, name = (record.need(column, readings.name) for column in _NEEDED)
    gtin = record.may("gtin", _gtin)
    others = {column: record.may(column, readings.name) for column in _OTHERS}
    if identifier is None:
        return None
    return ProductData(identifier=identifier, name=name, gtin=gtin, **others)


def _gtin(value: object) -> str:
    try:
        return gtin14(readings.name(value))
    except Gs1Error as error:
        raise Unfit(str(error)) from error
