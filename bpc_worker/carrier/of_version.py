"""The label of a passport version: what its public view says, by the template of its category."""

from collections.abc import Mapping

from bpc_worker.carrier.code import Printing
from bpc_worker.carrier.errors import CarrierError
from bpc_worker.carrier.label import Label
from bpc_worker.carrier.order import Order, check
from bpc_worker.carrier.sheet import SheetPrinter
from bpc_worker.carrier.template import Template, of_category
from bpc_worker.domain.exporting import File, public_fields, stem_of
from bpc_worker.domain.stored import Row, StoredVersion
from bpc_worker.handler_api import Code, Permanent

_CATEGORY, _CAPACITY = "identity.category", "performance.rated_capacity"


def label_of(version: StoredVersion) -> File:
    """A page of the label's size, as PDF: the same version is the same bytes."""
    shown = public_fields(version)
    try:
        template, label = _template(shown), _label(version.row, shown)
        printing = Printing(side_mm=template.code.side_mm)
        check(Order(labels=[label], template=template, printing=printing))
        return File(f"{stem_of(version.row)}.label.pdf", SheetPrinter(template, printing).one(label))
    except CarrierError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"no label can be made: {error}") from error


def _template(shown: Mapping[str, object]) -> Template:
    """INDUSTRIAL_EXTERNAL_STORAGE is an industrial one."""
    category = shown.get(_CATEGORY)
    if not isinstance(category, str):
        raise CarrierError(f"its public view has no {_CATEGORY}, by which a template is chosen")
    return of_category(category.partition("_")[0].lower())


def _label(row: Row, shown: Mapping[str, object]) -> Label:
    capacity = shown.get(_CAPACITY)
    if not isinstance(capacity, dict):
        raise CarrierError(f"its public view has no {_CAPACITY}, which stands on every label")
    return Label(
        name=row.serial,
        identifier=row.unique_identifier,
        values={
            "identifier": row.unique_identifier,
            "serial": row.serial,
            "product": row.product,
            "capacity": f"{capacity.get('value')} {capacity.get('unit')}",
        },
    )
