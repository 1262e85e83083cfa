"""Which of the known JSON shapes a document has, by the names of its members."""

from collections.abc import Callable
from dataclasses import dataclass

from bpc_worker.documents.formats import aspects, battery, bom, due_diligence, pcf, product_footprint
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import quoted
from bpc_worker.documents.reading.record import Record


@dataclass(frozen=True, slots=True)
class Shape:
    kind: str
    what: str
    marks: frozenset[str]  # one of these members is enough
    read: Callable[[Record, Limits], list[FoundFact]]


def _shape(kind: str, what: str, marks: str, read: Callable[[Record, Limits], list[FoundFact]]) -> Shape:
    return Shape(kind, what, frozenset(marks.split()), read)


_SHAPES = (
    _shape("BOM", '{"components": […]}', "components", bom.from_json),
    _shape("BOM", "a Catena-X SingleLevelBom", "childItems", bom.without_masses),
    _shape("PCF", '{"declared_unit": "battery", "stages": {…}}', "stages declared_unit", pcf.from_json),
    _shape("PCF", "a PACT ProductFootprint or Catena-X Pcf 7", "pcf", product_footprint.from_json),
    _shape(
        "PCF",
        "a Catena-X Pcf 9",
        "companyAndProductInformation scopeOfPcfForm pcfAssessmentAndMethodology",
        product_footprint.from_json,
    ),
    _shape("PCF", 'a PACT answer {"data": […]}', "data", product_footprint.from_list),
    _shape("DUE_DILIGENCE", '{"report_url": …, "period": …}', "report_url period", due_diligence.from_json),
    _shape("OTHER", '{"battery": {…}}', "battery", battery.from_json),
    _shape("DATA_SHEET", '{"battery": {…}}', "battery", battery.from_json),
    _shape(
        "OTHER",
        "a Battery Pass GeneralProductInformation",
        "batteryPassportIdentifier",
        aspects.battery_pass("GeneralProductInformation"),
    ),
    _shape(
        "OTHER",
        "a Battery Pass CarbonFootprint",
        "carbonFootprintPerLifecycleStage batteryCarbonFootprint",
        aspects.battery_pass("CarbonFootprint"),
    ),
    _shape(
        "OTHER",
        "a Battery Pass MaterialComposition",
        "batteryMaterials batteryChemistry",
        aspects.battery_pass("MaterialComposition"),
    ),
    _shape("OTHER", "a Catena-X battery pass", "characteristics identification", aspects.catena_x),
)


def read(top: Record, kind: str, limits: Limits) -> list[FoundFact]:
    """The facts of a document of this kind; a problem for a shape that is unknown or of another kind."""
    found = [shape for shape in _SHAPES if not shape.marks.isdisjoint(top.values)]
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
