"""Which of the known JSON shapes a document has, by the names of its members."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bpc_worker.documents.formats import (
    battery,
    battery_pass,
    battery_pass_ready,
    bom,
    catena_x,
    due_diligence,
    footprints,
    idta,
    mapped,
    pcf,
)
from bpc_worker.documents.formats.form import Form
from bpc_worker.documents.formats.places import find, leaves
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import pointer, quoted
from bpc_worker.documents.reading.json_text import Unreadable
from bpc_worker.documents.reading.record import Record


@dataclass(frozen=True, slots=True)
class Shape:
    kind: str
    what: str
    fits: Callable[[Record], bool]
    read: Callable[[Record, Limits], list[FoundFact]]


def _shape(kind: str, what: str, marks: str, read: Callable[[Record, Limits], list[FoundFact]]) -> Shape:
    """One of our own: a number that cannot be read is a problem like any other."""

    def strictly(top: Record, limits: Limits) -> list[FoundFact]:
        for steps, value in leaves(top.values):
            if isinstance(value, Unreadable):
                top.problems.add(pointer(steps), value.why)
        return read(top, limits)

    return Shape(kind, what, lambda top: not top.values.keys().isdisjoint(marks.split()), strictly)


def _mapped(form: Form) -> Shape:
    """One of others, which is seen by what it says."""

    def fits(top: Record) -> bool:
        return any(next(find(top.values, mark), None) is not None for mark in form.marks)

    return Shape(form.kind, form.name, fits, partial(mapped.read, form))


_OWN = (
    _shape("BOM", '{"components": […]}', "components", bom.from_json),
    _shape("PCF", '{"declared_unit": "battery", "stages": {…}}', "stages declared_unit", pcf.from_json),
    _shape("DUE_DILIGENCE", '{"report_url": …, "period": …}', "report_url period", due_diligence.from_json),
    _shape("OTHER", '{"battery": {…}}', "battery", battery.from_json),
    _shape("DATA_SHEET", '{"battery": {…}}', "battery", battery.from_json),
)
_FORMS = (
    *battery_pass.FORMS, *battery_pass_ready.FORMS, *idta.FORMS, *catena_x.FORMS, *footprints.FORMS
)  # fmt: skip
_SHAPES = (*_OWN, *map(_mapped, _FORMS))


def read(top: Record, kind: str, limits: Limits) -> list[FoundFact]:
    """The facts of a document of this kind; a problem for a shape that is unknown or of another kind."""
    found = [shape for shape in _SHAPES if shape.fits(top)]
    fitting = next((shape for shape in found if shape.kind == kind), None)
    if fitting is not None:
        return fitting.read(top, limits)
    if found:
        top.problems.add("", f"this is {found[0].what}; declare the kind {found[0].kind}, not {kind}")
    else:
        _name_known(top, kind)
    return []


def _name_known(top: Record, kind: str) -> None:
    known = "; ".join(shape.what for shape in _SHAPES if shape.kind == kind)
    given = ", ".join(quoted(name) for name in list(top.values)[:10]) or "nothing"
    top.problems.add(
        "", f"no {kind} document that is known here begins with the members {given}; send {known}"
    )
