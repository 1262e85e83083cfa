"""A product's carbon footprint in the published forms, as tables: PACT 2 and 3, Catena-X Pcf 7, 8 and 9.

The figure that counts, `kg_co2e`, is the one without biogenic uptake, per declared unit and amount.
"""

import re
from collections.abc import Mapping

from bpc_worker.documents.formats import foreign_readings as as_
from bpc_worker.documents.formats.form import Form, Member, Reading, Rows, Said, marks
from bpc_worker.documents.reading import readings

_UNITS_2 = (
    "liter", "kilogram", "cubic meter", "kilowatt hour", "megajoule", "ton kilometer", "square meter",
)  # fmt: skip
_UNITS_3 = (*_UNITS_2, "piece", "hour", "megabit second")
_NEEDED = frozenset({"id", "declared_unit", "declared_amount", "kg_co2e"})
_URN = r"urn:io\.catenax\.pcf:datamodel:version:"
_VERSIONS = "PACT 2.x.y and 3.x.y, and urn:io.catenax.pcf:datamodel:version:7.x.y to 9.x.y"

_PACT = {
    "id": "id", "spec_version": "specVersion", "version": "version", "created": "created",
    "status": "status", "company_name": "companyName", "company_ids": "companyIds",
    "product_name": "productNameCompany", "product_ids": "productIds",
    "period_start": "pcf/referencePeriodStart", "period_end": "pcf/referencePeriodEnd",
    "declared_unit": "pcf/declaredUnitOfMeasurement", "declared_amount": "pcf/declaredUnitAmount",
    "mass_kg_per_unit": "pcf/productMassPerDeclaredUnit",
    "kg_co2e": "pcf/pcfExcludingBiogenicUptake", "including_biogenic": "pcf/pcfIncludingBiogenicUptake",
}  # fmt: skip
_PACT_2 = _PACT | {
    "declared_unit": "pcf/declaredUnit", "declared_amount": "pcf/unitaryProductAmount",
    "kg_co2e": "pcf/pCfExcludingBiogenic", "including_biogenic": "pcf/pCfIncludingBiogenic",
}  # fmt: skip
_PCF_7 = _PACT_2 | {
    "status": "extWBCSD_pfStatus", "product_name": "productName",
    "kg_co2e": "pcf/pcfExcludingBiogenic", "including_biogenic": "pcf/pcfIncludingBiogenic",
}  # fmt: skip
_PCF_8 = _PACT | {"spec_version": "specVersion/0"}

_METHOD = "pcfAssessmentAndMethodology/0/pcfAssessmentInformation/0"
_PRODUCT = "companyAndProductInformation/0/productInformation/0"
_COMPANY = "companyAndProductInformation/0/companyInformation/0"
_PRODUCTION = "productLifeCycleStagesAndEmissions/0/productionStage/0"
_PCF_9 = {
    "id": f"{_METHOD}/idAndVersion/0/id",
    "spec_version": "scopeOfPcfForm/0/specVersion",
    "version": f"{_METHOD}/idAndVersion/0/version",
    "created": f"{_METHOD}/time/0/created",
    "status": f"{_METHOD}/idAndVersion/0/status",
    "company_name": f"{_COMPANY}/companyName",
    "company_ids": f"{_COMPANY}/companyIds",
    "product_name": f"{_PRODUCT}/productNameCompany",
    "product_ids": f"{_PRODUCT}/productIds",
    "period_start": f"{_METHOD}/time/0/referencePeriodStart",
    "period_end": f"{_METHOD}/time/0/referencePeriodEnd",
    "declared_unit": f"{_PRODUCT}/declaredUnitOfMeasurement",
    "declared_amount": f"{_PRODUCT}/declaredUnitAmount",
    "mass_kg_per_unit": f"{_PRODUCT}/productMassPerDeclaredUnit",
    "kg_co2e": f"{_PRODUCTION}/pcfExcludingBiogenicUptake",
    "including_biogenic": f"{_PRODUCTION}/pcfIncludingBiogenicUptake",
}


def _readings(units: tuple[str, ...]) -> Mapping[str, Reading]:
    return {
        "id": as_.uuid,
        "spec_version": readings.text,
        "version": readings.whole,
        "created": readings.moment,
        "status": readings.one_of(("Active", "Deprecated")),
        "company_name": readings.text,
        "company_ids": as_.texts,
        "product_name": readings.text,
        "product_ids": as_.texts,
        "period_start": readings.moment,
        "period_end": readings.moment,
        "declared_unit": readings.one_of(units),
        "declared_amount": as_.positive,
        "mass_kg_per_unit": as_.number(),
        "kg_co2e": as_.number(least=None),
        "including_biogenic": as_.number(least=None),
    }


def _period(payload: Mapping[str, object]) -> str | None:
    start, end = payload.get("period_start"), payload.get("period_end")
    if isinstance(start, str) and isinstance(end, str) and start > end:
        return "the period ends before it starts; correct it"
    return None


def _layout(form: str, paths: Mapping[str, str], version: str, units: tuple[str, ...] = _UNITS_3) -> Rows:
    read = _readings(units)
    members = tuple(Member(name, path, read[name], needed=name in _NEEDED) for name, path in paths.items())
    return Rows(
        "",
        "Footprint",
        "footprint:",
        members,
        fixed={"form": form},
        key="id",
        whole=True,
        when=Said(paths["spec_version"], re.compile(version)),
        check=_period,
    )


_LAYOUTS = (
    _layout("PACT ProductFootprint 2", _PACT_2, r"2\.[0-9]+\.[0-9]+(?:-[0-9]{8})?", _UNITS_2),
    _layout("PACT ProductFootprint 3", _PACT, r"3\.[0-9]+\.[0-9]+(?:-[0-9]{8})?"),
    _layout("Catena-X Pcf 7", _PCF_7, rf"{_URN}7\.[0-9]+\.[0-9]+"),
    _layout("Catena-X Pcf 8", _PCF_8, rf"{_URN}8\.[0-9]+\.[0-9]+"),
    _layout("Catena-X Pcf 9", _PCF_9, rf"{_URN}9\.[0-9]+\.[0-9]+"),
)


def _form(name: str, found_by: str, path: str) -> Form:
    rows = tuple(layout.at(path) for layout in _LAYOUTS)
    return Form(name=name, kind="PCF", marks=marks(found_by), rows=rows, versions=_VERSIONS)


FORMS = (
    _form("a PACT event of footprints", "data/pfs", "data/pfs/*"),
    _form("a PACT list of footprints", "data/0", "data/*"),
    _form("a PACT footprint as an answer", "data", "data"),
    _form("a PACT ProductFootprint or Catena-X Pcf", "pcf scopeOfPcfForm companyAndProductInformation", ""),
)
