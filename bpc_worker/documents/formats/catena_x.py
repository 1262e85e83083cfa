"""The battery pass of Catena-X, version 6, and its bill of materials as built, as tables."""

import re

from bpc_worker.documents.formats import foreign_readings as as_
from bpc_worker.documents.formats.form import Cell, Form, Member, Rows, Said, marks
from bpc_worker.documents.reading import readings

_RATED = "performance/rated"
_DYNAMIC = "performance/dynamic"
_HAZARDOUS = "materials/hazardous"
_DOCUMENT = "0/content"  # of a list of documents, the first

_CATEGORIES = {"EV": "EV", "LMT": "LMT", "industrial": "INDUSTRIAL", "Industrial": "INDUSTRIAL"}
_STAGE = "sustainability/carbonFootprint/*[lifecycle={}]/value"


def _measured(path: str, name: str, unit: str = "") -> Cell:
    return Cell(f"{_DYNAMIC}/{path}/value", name, unit=unit, at="time")


def _link(path: str, name: str) -> Cell:
    return Cell(f"{path}/{_DOCUMENT}", name, as_.link)


def _stage(lifecycle: str, name: str) -> Cell:
    return Cell(_STAGE.format(lifecycle), name, unit_beside="unit")


_IDENTITY = (
    Cell("identification/category", "identity.category", as_.word(_CATEGORIES)),
    Cell("identification/chemistry", "composition.chemistry"),
    Cell("identification/identification/batch/0/value", "identity.batch"),
    Cell("sustainability/status", "identity.status"),
    Cell("operation/intoServiceDate", "identity.put_into_service_month", as_.month),
    Cell("operation/manufacturer/manufacturingDate", "identity.manufacturing_month", as_.month),
    Cell("characteristics/physicalDimension/weight/value", "composition.mass_kg", unit_beside="unit"),
    Cell("characteristics/warranty/lifeValue", "performance.warranty_months", unit_beside="lifeUnit"),
    Cell("metadata/backupReference", "registry.backup_url"),
    Cell("metadata/registrationIdentifier", "registry.registration_id"),
)

_PERFORMANCE = (
    Cell(f"{_RATED}/capacity/value", "performance.rated_capacity_ah"),
    Cell(f"{_RATED}/capacity/thresholdExhaustion", "performance.exhaustion_threshold_pct"),
    Cell(f"{_RATED}/energy/value", "performance.usable_kwh"),
    Cell(f"{_RATED}/voltage/min", "performance.voltage_min_v"),
    Cell(f"{_RATED}/voltage/nominal", "performance.voltage_nominal_v"),
    Cell(f"{_RATED}/voltage/max", "performance.voltage_max_v"),
    Cell(f"{_RATED}/power/at20SoC", "performance.power_at_20_w"),
    Cell(f"{_RATED}/power/at80SoC", "performance.power_at_80_w"),
    Cell(f"{_RATED}/resistance/cell", "performance.resistance_cell_mohm", unit="Ohm"),
    Cell(f"{_RATED}/resistance/pack", "performance.resistance_pack_mohm", unit="Ohm"),
    Cell(f"{_RATED}/temperature/lower", "performance.idle_temperature_min_c"),
    Cell(f"{_RATED}/temperature/upper", "performance.idle_temperature_max_c"),
    Cell(f"{_RATED}/roundTripEfficiency/initial", "performance.efficiency_initial_pct"),
    Cell(f"{_RATED}/roundTripEfficiency/50PercentLife", "performance.efficiency_half_life_pct"),
    Cell(f"{_RATED}/selfDischargingRate", "performance.self_discharge_pct_per_month"),
    Cell(f"{_RATED}/lifetime/cycleLifeTesting/cycles", "performance.life_cycles"),
    Cell(f"{_RATED}/lifetime/cycleLifeTesting/appliedDischargeRate", "performance.c_rate_per_h"),
    Cell(f"{_RATED}/lifetime/report/{_DOCUMENT}", "performance.life_cycles_test"),
    Cell(f"{_RATED}/lifetime/expectedYears", "performance.life_years"),
)

_CONDITION = (
    _measured("roundTripEfficiency/remaining", "remaining_efficiency_pct"),
    _measured("roundTripEfficiency/fade", "efficiency_fade_pct"),
    _measured("stateOfCharge", "charge_pct"),
    _measured("fullCycles", "full_cycles"),
    _measured("fullCycles", "cycles"),
    _measured("power/remaining", "remaining_power_w"),
    _measured("power/fade", "power_fade_pct"),
    _measured("resistance/increase/pack", "resistance_increase_pct"),
    _measured("resistance/remaining/pack", "resistance_mohm", "Ohm"),
    _measured("capacity/fade", "capacity_fade_pct"),
    _measured("capacity/throughput", "capacity_throughput_ah"),
    _measured("capacity/capacity", "remaining_capacity_ah"),
    _measured("energy/remaining", "remaining_energy_kwh"),
    _measured("energy/soce", "soce_pct"),
    _measured("energy/throughput", "energy_throughput_kwh"),
    Cell(f"{_DYNAMIC}/selfDischargingRate", "self_discharge_pct_per_month", at="time"),
)

_MATERIALS = (
    Cell(f"{_HAZARDOUS}/cadmium/concentration", "composition.cadmium_pct", unit_beside="materialUnit"),
    Cell(f"{_HAZARDOUS}/lead/concentration", "composition.lead_pct", unit_beside="materialUnit"),
    Cell("materials/active/lead/concentration", "composition.lead_pct", unit_beside="materialUnit"),
    Cell(f"{_HAZARDOUS}/lead/recycled", "recycled.lead_pct"),
    Cell("materials/active/lead/recycled", "recycled.lead_pct"),
    Cell("materials/active/nickel/recycled", "recycled.nickel_pct"),
    Cell("materials/active/cobalt/recycled", "recycled.cobalt_pct"),
    Cell("materials/active/lithium/recycled", "recycled.lithium_pct"),
    _link(f"{_HAZARDOUS}/other/0/impactOfSubstances", "waste.impact"),
)

_DOCUMENTS = (
    _stage("raw material acquisition and pre-processing", "carbon.raw_material_per_kwh_kg"),
    _stage("main product production", "carbon.production_per_kwh_kg"),
    _stage("distribution", "carbon.distribution_per_kwh_kg"),
    _stage("end of life and recycling", "carbon.end_of_life_per_kwh_kg"),
    Cell("sustainability/carbonFootprint/*/performanceClass", "carbon.performance_class"),
    Cell("sustainability/carbonFootprint/*/manufacturingPlant/0/facility", "carbon.plant"),
    _link("sustainability/documents/wastePrevention", "waste.prevention"),
    _link("sustainability/documents/separateCollection", "waste.separate_collection"),
    Cell("safety/usableExtinguishAgent/0/media", "composition.extinguishing_agent"),
    _link("safety/safetyMeasures", "safety.measures"),
    _link("safety/dismantling", "dismantling.sequence"),
    _link("safety/meaningOfLabels", "waste.symbols"),
    Cell(f"safety/meaningOfLabels/{_DOCUMENT}", "label.meaning_url"),
    Cell("conformity/declarationOfConformityId", "conformity.declaration_id"),
    Cell(f"conformity/declarationOfConformity/{_DOCUMENT}", "conformity.declaration_url"),
    _link("conformity/resultOfTestReport", "conformity.test_results"),
    Cell(f"conformity/thirdPartyAssurance/{_DOCUMENT}", "due_diligence.assurance"),
    Cell(f"conformity/dueDiligencePolicy/{_DOCUMENT}", "due_diligence.report_url"),
)

_LISTS = (
    Rows(
        "materials/composition/*",
        "Component",
        "component:",
        (
            Member("part", "location", readings.name),
            Member("material", "id/0/name", readings.text),
            Member("cas", "id/*[type=CAS]/id", readings.cas),
            Member("share_pct", "concentration", as_.number(most=100), unit_at="unit", unit="%"),
            Member("critical", "critical", readings.flag),
            Member("recycled_pct", "recycled", as_.number(most=100)),
        ),
        whole=True,
    ),
    Rows(
        f"{_HAZARDOUS}/mercury",
        "Substance",
        "substance:",
        (
            Member("share_pct", "concentration", as_.number(most=100), unit_at="materialUnit", unit="%"),
            Member("location", "location", readings.name),
        ),
        fixed={"name": "mercury"},
        whole=True,
    ),
    Rows(
        f"{_HAZARDOUS}/other/*",
        "Substance",
        "substance:",
        (
            Member("name", "materialIdentification/0/name", readings.text),
            Member("cas", "materialIdentification/*[type=CAS]/id", readings.cas),
            Member("ec", "materialIdentification/*[type=EC]/id", readings.ec),
            Member("share_pct", "concentration", as_.number(most=100), unit_at="materialUnit", unit="%"),
            Member("location", "location", readings.name),
        ),
        whole=True,
    ),
    Rows(
        f"{_DYNAMIC}/negativeEvents/*", "NegativeEvent", "event:", (Member("what", "content", readings.text),)
    ),
    Rows("handling/content/producer/*", "SpareSource", "spare:", (Member("name", "id", readings.name),)),
    Rows(
        "handling/content/sparePart/*",
        "Part",
        "part:",
        (
            Member("part_number", "manufacturerPartId", readings.name),
            Member("name", "nameAtManufacturer", readings.text),
        ),
    ),
)

_BATTERY_PASS = Form(
    name="Catena-X battery pass 6",
    kind="OTHER",
    marks=marks("characteristics identification"),
    version=Said(
        "specVersion",
        re.compile(r"urn:(?:samm:)?io\.catenax\.battery\.battery_pass:6\.[0-9]+\.[0-9]+(?:#\w+)?"),
    ),
    versions="urn:io.catenax.battery.battery_pass:6.x.y",
    cells=(*_IDENTITY, *_PERFORMANCE, *_CONDITION, *_MATERIALS, *_DOCUMENTS),
    rows=_LISTS,
)

_BOM_AS_BUILT = Form(
    name="Catena-X SingleLevelBomAsBuilt",
    kind="BOM",
    marks=marks("childItems"),
    rows=(
        Rows(
            "childItems/*",
            "Part",
            "part:",
            (
                Member("part_number", "globalAssetId", readings.name),
                Member("maker", "businessPartner", readings.name),
                Member("quantity", "quantity/value", as_.number()),
                Member("unit", "quantity/unit", readings.name),
                Member("built_at", "createdOn", readings.moment),
            ),
            whole=True,
        ),
    ),
)

FORMS = (_BATTERY_PASS, _BOM_AS_BUILT)
