"""Where published forms of a product's carbon footprint keep what we read: PACT 2 and 3, Catena-X 7 to 9.

Only names and paths; steps are joined by `/`, and a `0` is the first item of an array.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_UNITS_2 = (
    "liter", "kilogram", "cubic meter", "kilowatt hour", "megajoule", "ton kilometer", "square meter",
)  # fmt: skip
_UNITS_3 = (*_UNITS_2, "piece", "hour", "megabit second")


@dataclass(frozen=True, slots=True)
class Layout:
    form: str
    spec_version: re.Pattern[str]
    units: tuple[str, ...]
    paths: Mapping[str, str]  # our name: path in the document
    optional: frozenset[str]


_PACT_TOP = {
    "id": "id", "spec_version": "specVersion", "version": "version", "created": "created",
    "status": "status", "company_name": "companyName", "company_ids": "companyIds",
    "product_name": "productNameCompany", "product_ids": "productIds",
    "period_start": "pcf/referencePeriodStart", "period_end": "pcf/referencePeriodEnd",
}  # fmt: skip

PACT_3 = Layout(
    form="PACT ProductFootprint 3",
    spec_version=re.compile(r"3\.[0-9]+\.[0-9]+(?:-[0-9]{8})?"),
    units=_UNITS_3,
    paths=_PACT_TOP
    | {
        "declared_unit": "pcf/declaredUnitOfMeasurement",
        "declared_amount": "pcf/declaredUnitAmount",
        "mass_kg_per_unit": "pcf/productMassPerDeclaredUnit",
        "excluding_biogenic": "pcf/pcfExcludingBiogenicUptake",
        "including_biogenic": "pcf/pcfIncludingBiogenicUptake",
    },
    optional=frozenset({"version"}),
)

PACT_2 = Layout(
    form="PACT ProductFootprint 2",
    spec_version=re.compile(r"2\.[0-9]+\.[0-9]+(?:-[0-9]{8})?"),
    units=_UNITS_2,
    paths=_PACT_TOP
    | {
        "declared_unit": "pcf/declaredUnit",
        "declared_amount": "pcf/unitaryProductAmount",
        "mass_kg_per_unit": "pcf/productMassPerDeclaredUnit",
        "excluding_biogenic": "pcf/pCfExcludingBiogenic",
        "including_biogenic": "pcf/pCfIncludingBiogenic",
    },
    optional=frozenset({"mass_kg_per_unit", "including_biogenic"}),
)

_CATENA_X = r"urn:io\.catenax\.pcf:datamodel:version:"

CATENA_X_7 = Layout(
    form="Catena-X Pcf 7",
    spec_version=re.compile(rf"{_CATENA_X}[78]\.[0-9]+\.[0-9]+"),
    units=_UNITS_3,
    paths={
        **PACT_2.paths,
        "status": "extWBCSD_pfStatus",
        "product_name": "productName",
        "excluding_biogenic": "pcf/pcfExcludingBiogenic",
        "including_biogenic": "pcf/pcfIncludingBiogenic",
    },
    optional=frozenset({"version", "status", "company_ids", "mass_kg_per_unit", "including_biogenic"}),
)

_METHOD = "pcfAssessmentAndMethodology/0/pcfAssessmentInformation/0"
_PRODUCT = "companyAndProductInformation/0/productInformation/0"
_COMPANY = "companyAndProductInformation/0/companyInformation/0"
_PRODUCTION = "productLifeCycleStagesAndEmissions/0/productionStage/0"

CATENA_X_9 = Layout(
    form="Catena-X Pcf 9",
    spec_version=re.compile(rf"{_CATENA_X}9\.[0-9]+\.[0-9]+"),
    units=_UNITS_3,
    paths={
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
        "excluding_biogenic": f"{_PRODUCTION}/pcfExcludingBiogenicUptake",
        "including_biogenic": f"{_PRODUCTION}/pcfIncludingBiogenicUptake",
    },
    optional=frozenset({"version", "status", "company_ids", "mass_kg_per_unit"}),
)
