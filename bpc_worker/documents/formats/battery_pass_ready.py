"""The public form of BatteryPass-Ready, as a table. Its measured values are as of its last update."""

from bpc_worker.documents.formats import foreign_readings as as_
from bpc_worker.documents.formats.form import Cell, Form, Member, Rows, marks
from bpc_worker.documents.reading import readings

_TOP = "Battery_Passport"
_IDENTITY = f"{_TOP}/IdentifiersAndProductData"
_PERFORMANCE = f"{_TOP}/PerformanceAndDurability"
_CARBON = f"{_TOP}/BatteryCarbonFootprint"
_MATERIALS = f"{_TOP}/BatteryMaterialsAndComposition"
_CIRCULARITY = f"{_TOP}/CircularityAndResourceEfficiency"
_SOURCING = f"{_TOP}/SupplyChainDueDiligence"
_LABELS = f"{_TOP}/SymbolsLabelsAndDocumentationOfConformity"
_UPDATED = f"/{_IDENTITY}/Date-timeOfLatestUpdateOfDPP"

_CATEGORIES = {
    "electric vehicle battery": "EV", "LMT battery": "LMT", "light means of transport battery": "LMT",
    "industrial battery": "INDUSTRIAL", "stationary battery energy storage system": "INDUSTRIAL",
}  # fmt: skip
_STATUSES = {
    "original": "original", "repurposed": "repurposed", "re-used": "re-used", "reused": "re-used",
    "remanufactured": "remanufactured", "waste": "waste",
}  # fmt: skip
_PERCENT = ("percentageValue", "percent")
_VOLT = ("voltValue", "volt")
_CELSIUS = ("celsiusValue", "degreeCelsius")
_AMPERE_HOUR = ("amperehourMiliamperehourValue", "ampereHourMiliamperehour")
_WATT = ("wattValue", "watt")
_PER_KWH = ("kgCO2-equivalentPerKilowattHourValue", "kgCO2-equivalentPerKilowattHour")
_UNCLEAR = as_.refused("one value for cell and pack; say which it is, with performance.resistance_pack_mohm")


def _with_unit(path: str, members: tuple[str, str], name: str, at: str = "") -> Cell:
    """An object of a value and its unit."""
    value, unit = members
    return Cell(f"{path}/{value}", name, unit_beside=unit, at=at)


def _measured(member: str, members: tuple[str, str], name: str) -> Cell:
    return _with_unit(f"{_PERFORMANCE}/{member}", members, name, _UPDATED)


_IDENTIFIERS = (
    Cell(f"{_IDENTITY}/BatteryCategory/batteryCategoryValue", "identity.category", as_.word(_CATEGORIES)),
    Cell(
        f"{_IDENTITY}/BatteryCategory/batteryCategoryValue",
        "condition.stationary",
        as_.is_word("stationary battery energy storage system", _CATEGORIES),
    ),
    Cell(f"{_IDENTITY}/BatteryStatus/batteryStatusValues", "identity.status", as_.word(_STATUSES)),
    Cell(f"{_IDENTITY}/ManufacturingPlace", "identity.manufacturing_place"),
    Cell(f"{_IDENTITY}/ManufacturingDate", "identity.manufacturing_month", as_.month),
    Cell(f"{_IDENTITY}/DateOfPuttingTheBatteryIntoService", "identity.put_into_service_month", as_.month),
    Cell(f"{_IDENTITY}/WarrantyPeriodOfTheBattery", "performance.warranty_months", as_.months),
    Cell(f"{_IDENTITY}/ManufacturerInformation/name", "manufacturer.name"),
    Cell(f"{_IDENTITY}/ManufacturerInformation/postalAddress", "manufacturer.address"),
    _with_unit(f"{_IDENTITY}/BatteryMass", ("gramKgValue", "gramKg"), "composition.mass_kg"),
)

_RATED = (
    _with_unit(f"{_PERFORMANCE}/RatedCapacity", _AMPERE_HOUR, "performance.rated_capacity_ah"),
    _with_unit(f"{_PERFORMANCE}/MinimumVoltage", _VOLT, "performance.voltage_min_v"),
    _with_unit(f"{_PERFORMANCE}/NominalVoltage", _VOLT, "performance.voltage_nominal_v"),
    _with_unit(f"{_PERFORMANCE}/MaximumVoltage", _VOLT, "performance.voltage_max_v"),
    _with_unit(
        f"{_PERFORMANCE}/CapacityThresholdForExhaustion", _PERCENT, "performance.exhaustion_threshold_pct"
    ),
    _with_unit(
        f"{_PERFORMANCE}/InitialRoundTripEnergyEfficiency", _PERCENT, "performance.efficiency_initial_pct"
    ),
    _with_unit(
        f"{_PERFORMANCE}/RoundTripEnergyEfficiencyAt50OfCycleLife",
        _PERCENT,
        "performance.efficiency_half_life_pct",
    ),
    Cell(f"{_PERFORMANCE}/ExpectedLifetimeInCalendarYears", "performance.life_years"),
    Cell(f"{_PERFORMANCE}/ExpectedLifetime-NumberOfCharge-dischargeCycles", "performance.life_cycles"),
    Cell(f"{_PERFORMANCE}/Cycle-lifeReferenceTest", "performance.life_cycles_test"),
    _with_unit(
        f"{_PERFORMANCE}/C-rateOfRelevantCycle-lifeTest",
        ("amperePerAmpereHourValue", "amperePerAmpereHour"),
        "performance.c_rate_per_h",
    ),
    _with_unit(
        f"{_PERFORMANCE}/TemperatureRangeIdleStateLowerBoundary",
        _CELSIUS,
        "performance.idle_temperature_min_c",
    ),
    _with_unit(
        f"{_PERFORMANCE}/TemperatureRangeIdleStateUpperBoundary",
        _CELSIUS,
        "performance.idle_temperature_max_c",
    ),
    _with_unit(
        f"{_PERFORMANCE}/OriginalPowerCapability", ("wattValueAt80SoC", "watt"), "performance.power_at_80_w"
    ),
    _with_unit(
        f"{_PERFORMANCE}/OriginalPowerCapability", ("wattValueAt20SoC", "watt"), "performance.power_at_20_w"
    ),
    _with_unit(f"{_PERFORMANCE}/MaximumPermittedBatteryPower", _WATT, "performance.power_limit_w"),
    *(
        Cell(
            f"{_PERFORMANCE}/InitialInternalResistanceOfBatteryCellAndPackModuleRecommended/ohmValue",
            name,
            _UNCLEAR,
        )
        for name in ("performance.resistance_cell_mohm", "performance.resistance_pack_mohm")
    ),
)

_CONDITION = (
    _measured("CapacityFade", _PERCENT, "capacity_fade_pct"),
    _measured("StateOfChargeSoC", _PERCENT, "charge_pct"),
    _measured("RemainingPowerCapability", ("wattValueAt80SoC", "watt"), "remaining_power_w"),
    _measured("PowerFade", _PERCENT, "power_fade_pct"),
    _measured("EnergyRoundTripEfficiencyFade", _PERCENT, "efficiency_fade_pct"),
    _measured(
        "InternalResistanceIncreaseOfPackCellAndModuleRecommended", _PERCENT, "resistance_increase_pct"
    ),
    _measured("TemperatureInformation", _CELSIUS, "temperature_c"),
    _measured("StateOfCertifiedEnergySOCE", _PERCENT, "soce_pct"),
    _measured("RemainingCapacity", _AMPERE_HOUR, "remaining_capacity_ah"),
    Cell(f"{_PERFORMANCE}/NumberOfFullChargingAndDischargingCycles", "cycles", at=_UPDATED),
    Cell(f"{_PERFORMANCE}/NumberOfDeepDischargeEvents", "deep_discharges", at=_UPDATED),
)

_FOOTPRINT = (
    _with_unit(f"{_CARBON}/BatteryCarbonFootprintPerFunctionalUnit", _PER_KWH, "carbon.per_kwh_kg"),
    _with_unit(
        f"{_CARBON}/ContributionOfRawMaterialAcquisitionAndPre-processingLifecycleStage",
        _PER_KWH,
        "carbon.raw_material_per_kwh_kg",
    ),
    _with_unit(
        f"{_CARBON}/ContributionOfMainProductProductionLifecycleStage",
        _PER_KWH,
        "carbon.production_per_kwh_kg",
    ),
    _with_unit(
        f"{_CARBON}/ContributionOfDistributionLifecycleStage", _PER_KWH, "carbon.distribution_per_kwh_kg"
    ),
    _with_unit(
        f"{_CARBON}/ContributionOfEndOfLifeAndRecyclingLifecycleStage",
        _PER_KWH,
        "carbon.end_of_life_per_kwh_kg",
    ),
    Cell(f"{_CARBON}/CarbonFootprintPerformanceClass", "carbon.performance_class"),
    Cell(f"{_CARBON}/WebLinkToPublicCarbonFootprintStudy", "carbon.study_url"),
)

_COMPOSITION = (
    Cell(f"{_MATERIALS}/BatteryChemistry/chemicalCodeValue", "composition.chemistry"),
    Cell(f"{_MATERIALS}/ImpactOfSubstancesOnEnvironmentHumanHealthSafetyPersons", "waste.impact"),
    *(
        _with_unit(
            f"{_CIRCULARITY}/{when}-consumerRecycled{metal}Share",
            _PERCENT,
            f"recycled.{when.lower()}_consumer_{metal.lower()}_pct",
        )
        for metal in ("Lithium", "Nickel", "Cobalt")
        for when in ("Pre", "Post")
    ),
    _with_unit(f"{_CIRCULARITY}/RecycledLeadShare", _PERCENT, "recycled.lead_pct"),
    _with_unit(f"{_CIRCULARITY}/RenewableContentShare", _PERCENT, "composition.renewable_pct"),
)

_DOCUMENTS = (
    Cell(
        f"{_CIRCULARITY}/DismantlingInformation-ManualsForTheRemovalAndTheDisassemblyOfTheBatteryPack",
        "dismantling.sequence",
    ),
    Cell(f"{_CIRCULARITY}/SafetyMeasures", "safety.measures"),
    Cell(
        f"{_CIRCULARITY}/InformationOnTheRoleOfEnd-usersInContributingToWastePrevention", "waste.prevention"
    ),
    Cell(
        f"{_CIRCULARITY}/InformationOnTheRoleOfEnd-usersInContributingToTheSeparateCollectionOfWasteBatteries",
        "waste.separate_collection",
    ),
    Cell(
        f"{_CIRCULARITY}/InformationOnBatteryCollectionPreparationForSecondLifeAndOnTreatmentAtEndOfLife",
        "waste.treatment",
    ),
    Cell(f"{_SOURCING}/InformationOfDueDiligenceReport", "due_diligence.report_url"),
    Cell(f"{_SOURCING}/ThirdPartyAssurancesOfRecognisedSchemes", "due_diligence.assurance"),
    Cell(f"{_SOURCING}/SupplyChainIndices", "due_diligence.supply_chain_index"),
    Cell(f"{_LABELS}/SeparateCollectionSymbol", "label.separate_collection_symbol", as_.stated, kept=True),
    Cell(f"{_LABELS}/EUDeclarationOfConformity", "conformity.declaration_url"),
    Cell(f"{_LABELS}/ResultsOfTestReportsProvingCompliance", "conformity.test_results"),
    Cell(f"{_LABELS}/ExtinguishingAgent/extinguishingAgent", "composition.extinguishing_agent"),
    Cell(f"{_LABELS}/MeaningOfLabelsAndSymbols", "waste.symbols"),
)

_LISTS = (
    Rows(
        f"{_MATERIALS}/HazardousSubstances",
        "Substance",
        "substance:",
        (
            Member("name", "", readings.text),
            Member("class", "", as_.before_bracket),
            Member("cas", "", as_.cas_inside),
        ),
        split=";",
    ),
    Rows(
        f"{_MATERIALS}/MaterialsUsedInCathodeAnodeAndElectrolyte",
        "Component",
        "component:",
        (Member("material", "", readings.text),),
        split=";",
    ),
    Rows(
        f"{_CIRCULARITY}/PartNumbersForComponents",
        "Part",
        "part:",
        (Member("part_number", "", readings.name),),
        split=";",
    ),
    Rows(
        f"{_CIRCULARITY}/InformationOnSourcesOfSpareParts",
        "SpareSource",
        "spare:",
        (Member("name", "", readings.name), Member("web", "", readings.url)),
    ),
    Rows(
        f"{_PERFORMANCE}/InformationOnAccidents",
        "NegativeEvent",
        "event:",
        (Member("what", "", readings.text),),
    ),
)

FORMS = (
    Form(
        name="BatteryPass-Ready",
        kind="OTHER",
        marks=marks(_TOP),
        cells=(*_IDENTIFIERS, *_RATED, *_CONDITION, *_FOOTPRINT, *_COMPOSITION, *_DOCUMENTS),
        rows=_LISTS,
        source="BatteryPass-Ready, as of its last update",
    ),
)
