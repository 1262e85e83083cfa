"""The battery submodels of IDTA 02035 in their value-only form, as tables.

Their time stamps name no zone: they are read as UTC, and the source of each measured value says so.
"""

from bpc_worker.documents.formats import foreign_readings as as_
from bpc_worker.documents.formats.battery_pass import CATEGORIES
from bpc_worker.documents.formats.form import Cell, Form, Member, Rows, marks
from bpc_worker.documents.reading import readings

_GENERAL = "GeneralInformation"
_AREAS = "TechnicalPropertyAreas"
_CAPACITY = f"{_AREAS}/CapacityEnergyVoltage"
_EFFICIENCY = f"{_AREAS}/RoundTripEnergyEfficiency"
_RESISTANCE = f"{_AREAS}/Resistance"
_POWER = f"{_AREAS}/PowerCapability"
_TEMPERATURE = f"{_AREAS}/Temperature"
_LIFE = f"{_AREAS}/Lifetime"


def _measured(group: str, name: str, member: str = "") -> Cell:
    return Cell(f"{group}/{member or group + 'Value'}", name, at="LastUpdate")


_TECHNICAL = Form(
    name="IDTA 02035 TechnicalData 1",
    kind="OTHER",
    marks=marks(_AREAS),
    cells=(
        Cell(f"{_GENERAL}/ManufacturerName", "manufacturer.name"),
        Cell(f"{_GENERAL}/BatteryCategory", "identity.category", as_.word(CATEGORIES)),
        Cell(f"{_GENERAL}/BatteryCategory", "condition.stationary", as_.is_word("stationary", CATEGORIES)),
        Cell(f"{_GENERAL}/BatteryMass", "composition.mass_kg"),
        Cell(f"{_GENERAL}/WarrantyInformation/WarrantyPeriod", "performance.warranty_months", as_.months),
        Cell(f"{_CAPACITY}/NominalVoltage", "performance.voltage_nominal_v"),
        Cell(f"{_CAPACITY}/MinVoltage", "performance.voltage_min_v"),
        Cell(f"{_CAPACITY}/MaxVoltage", "performance.voltage_max_v"),
        Cell(f"{_CAPACITY}/RatedCapacity", "performance.rated_capacity_ah"),
        Cell(f"{_CAPACITY}/CertifiedUsableBatteryEnergy", "performance.usable_kwh"),
        Cell(f"{_EFFICIENCY}/InitialRoundTripEnergyEfficiency", "performance.efficiency_initial_pct"),
        Cell(
            f"{_EFFICIENCY}/RoundTripEnergyEfficiencyAt50PercentOfCycleLife",
            "performance.efficiency_half_life_pct",
        ),
        Cell(f"{_EFFICIENCY}/InitialSelfDischargingRate", "performance.self_discharge_pct_per_month"),
        Cell(
            f"{_RESISTANCE}/InitialInternalResistanceAtBatteryCellLevel",
            "performance.resistance_cell_mohm",
            unit="Ohm",
        ),
        Cell(
            f"{_RESISTANCE}/InitialInternalResistanceAtBatteryPackLevel",
            "performance.resistance_pack_mohm",
            unit="Ohm",
        ),
        Cell(f"{_POWER}/MaximumPermittedBatteryPower", "performance.power_limit_w"),
        Cell(f"{_POWER}/OriginalPowerCapability/*[atSoC=80]/powerCapabilityAt", "performance.power_at_80_w"),
        Cell(f"{_POWER}/OriginalPowerCapability/*[atSoC=20]/powerCapabilityAt", "performance.power_at_20_w"),
        Cell(f"{_TEMPERATURE}/TemperatureRangeIdleState_LowerBoundary", "performance.idle_temperature_min_c"),
        Cell(f"{_TEMPERATURE}/TemperatureRangeIdleState_UpperBoundary", "performance.idle_temperature_max_c"),
        Cell(f"{_LIFE}/ExpectedLifetimeInCalendarYears", "performance.life_years"),
        Cell(f"{_LIFE}/ExpectedNumberOfCycles", "performance.life_cycles"),
        Cell(f"{_LIFE}/CapacityThresholdExhaustion", "performance.exhaustion_threshold_pct"),
        Cell(f"{_LIFE}/CycleLifeReferenceTest/0", "performance.life_cycles_test"),
        Cell(f"{_LIFE}/CrateOfRelevantCycleLifeTest", "performance.c_rate_per_h"),
        # Measured values in a sheet that does not say when: they are refused for it, not passed over.
        Cell(f"{_CAPACITY}/CapacityFade", "capacity_fade_pct", at="LastUpdate"),
        Cell(f"{_EFFICIENCY}/EnergyRoundTripEfficiencyFade", "efficiency_fade_pct", at="LastUpdate"),
        Cell(f"{_POWER}/PowerFade", "power_fade_pct", at="LastUpdate"),
        Cell(
            f"{_RESISTANCE}/InternalResistanceIncreaseAtBatteryPackLevel",
            "resistance_increase_pct",
            at="LastUpdate",
        ),
    ),
)

_CONDITION = Form(
    name="IDTA 02035 ProductCondition 1",
    kind="OTHER",
    marks=marks("StateOfCertifiedEnergy EnergyThroughput NumberOfFullCycles StateOfCharge RemainingCapacity"),
    time=as_.moment_in_utc,
    source="IDTA 02035 ProductCondition, time read as UTC",
    cells=(
        _measured("EnergyThroughput", "energy_throughput_kwh"),
        _measured("CapacityThroughput", "capacity_throughput_ah"),
        _measured("NumberOfFullCycles", "full_cycles"),
        _measured("StateOfCertifiedEnergy", "soce_pct"),
        _measured("RemainingEnergy", "remaining_energy_kwh"),
        _measured("RemainingCapacity", "remaining_capacity_ah"),
        _measured("TemperatureInformation", "temperature_c", "MeasuredTemp"),
        _measured("TemperatureInformation", "minutes_hot", "TimeExtremeHighTemp"),
        _measured("TemperatureInformation", "minutes_cold", "TimeExtremeLowTemp"),
        _measured("TemperatureInformation", "minutes_charging_hot", "TimeExtremeHighTempCharging"),
        _measured("TemperatureInformation", "minutes_charging_cold", "TimeExtremeLowTempCharging"),
        Cell(
            "RemainingPowerCapability/RemainingPowerCapabilityValue/PowerCapabilityAt",
            "remaining_power_w",
            at="RPCLastUpdated",
        ),
        _measured("CurrentSelfDischargingRate", "self_discharge_pct_per_month"),
        _measured("RemainingRoundTripEnergyEfficiency", "remaining_efficiency_pct"),
        _measured("StateOfCharge", "charge_pct"),
    ),
    rows=(
        Rows(
            "NegativeEvents/*",
            "NegativeEvent",
            "event:",
            (
                Member("what", "NegativeEventValue", readings.text),
                Member("at", "LastUpdate", as_.moment_in_utc),
            ),
        ),
        Rows("InformationOnAccidents/*", "NegativeEvent", "event:", (Member("what", "", readings.text),)),
    ),
)

_MATERIALS = Form(
    name="IDTA 02035 MaterialComposition 1",
    kind="OTHER",
    marks=marks("BatteryMaterials BatteryChemistry HazardousSubstances"),
    cells=(Cell("BatteryChemistry/ShortName", "composition.chemistry"),),
    rows=(
        Rows(
            "BatteryMaterials/*",
            "Component",
            "component:",
            (
                Member("part", "BatteryMaterialLocation/ComponentName", readings.name),
                Member("part_number", "BatteryMaterialLocation/ComponentId", readings.name),
                Member("material", "BatteryMaterialName", readings.text),
                Member("cas", "BatteryMaterialIdentifier", readings.cas),
                Member("mass_kg", "BatteryMaterialMass", as_.number()),
                Member("critical", "IsCriticalRawMaterial", readings.flag),
            ),
        ),
        Rows(
            "HazardousSubstances/*",
            "Substance",
            "substance:",
            (
                Member("name", "HazardousSubstanceName", readings.text),
                Member("class", "HazardousSubstanceClass", readings.text),
                Member("cas", "HazardousSubstanceIdentifier", readings.cas),
                Member("share_pct", "HazardousSubstanceConcentration", as_.number(most=100)),
                Member("location", "HazardousSubstanceLocation/ComponentName", readings.name),
            ),
            whole=True,
        ),
    ),
)

_CARBON = Form(
    name="IDTA 02035 CarbonFootprint 1",
    kind="OTHER",
    marks=marks("ProductCarbonFootprints"),
    cells=(
        Cell("ProductCarbonFootprints/*/PerformanceClass", "carbon.performance_class"),
        Cell("ProductCarbonFootprints/*/WebLinkToPublicCarbonFootprintStudy/0", "carbon.study_url"),
    ),
    rows=(
        Rows(
            "ProductCarbonFootprints/*",
            "Footprint",
            "footprint:",
            (
                Member("kg_co2e", "PcfCo2eq", as_.number(least=None), needed=True),
                Member("declared_unit", "ReferenceImpactUnitForCalculation", readings.name),
                Member("declared_amount", "QuantityOfMeasureForCalculation", as_.number()),
                Member("method", "PcfCalculationMethods", readings.text),
                Member("phases", "LifeCyclePhases", readings.text),
            ),
            fixed={"form": "IDTA 02035 CarbonFootprint 1"},
            whole=True,
        ),
    ),
)

FORMS = (_TECHNICAL, _CONDITION, _MATERIALS, _CARBON)
