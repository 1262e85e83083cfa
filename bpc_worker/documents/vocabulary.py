"""The one list of what documents can say of a battery: every form is mapped onto these names.

A single value is a fact `Value`, key = its name, payload `{"value": X}`. A measured one is a fact `Measured`,
key = its name, payload `{"value": X, "measured_at": "2027-02-18T12:00:00Z", "source": "…"}`. Lists are facts
of a type of their own, one per row. Texts by language are `{"en": "…", "de": "…"}`; what is given without one
(a link has none) stands under `und`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Kind(StrEnum):
    DECIMAL = "decimal"  # a text in plain notation, in the name's unit
    INTEGER = "integer"  # of 0 or more
    BOOL = "bool"
    TEXT = "text"
    URL = "url"  # a text
    CHOICE = "choice"  # a text, one of those listed
    MONTH = "month"  # YYYY-MM
    TEXTS = "texts"  # by language


class Scope(StrEnum):
    MODEL = "model"  # the same for every battery of the model
    ITEM = "item"  # of one battery


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A name and what may stand under it."""

    name: str
    kind: Kind
    words: str  # what it is
    unit: str = ""  # of a decimal; a bare number has none
    scope: Scope
    choices: tuple[str, ...] = ()
    least: Decimal | None = None  # less is impossible
    most: Decimal | None = None


# name | kind, or the unit of a decimal | what it is, with [item] where it is not of the model
_VALUES = """
identity.category | choice EV LMT INDUSTRIAL | category of the battery
identity.vehicle_category | choice L M1 M2 M3 N1 N2 N3 O | category of the vehicle it is made for
identity.status | choice original repurposed re-used remanufactured waste | status of the battery [item]
identity.manufacturing_place | text | place of manufacture (the plant)
identity.batch | text | batch number [item]
identity.battery_id | text | the maker's own identifier of the battery [item]
identity.manufacturing_month | month | month of manufacture [item]
identity.put_into_service_month | month | month of first use [item]

manufacturer.name | text | name, trade name or mark of the manufacturer
manufacturer.address | texts | postal address of the manufacturer
manufacturer.contact | text | single contact point of the manufacturer
manufacturer.email | text | e-mail of the manufacturer
manufacturer.web | url | web address of the manufacturer

condition.stationary | bool | made for stationary storage
condition.bms | bool | has a battery management system
condition.external_storage_only | bool | stores its energy outside the cells (flow battery)
condition.rechargeable | bool | can be recharged
condition.cycle_use | bool | made for charging and discharging in cycles
condition.warranty_given | bool | a commercial warranty is given
condition.contains_cd | bool | holds more than 0.002 % cadmium
condition.contains_pb | bool | holds more than 0.004 % lead
condition.due_diligence_owed | bool | the operator owes a due diligence report
condition.in_use | bool | has been put into service [item]
condition.has_predecessor | bool | was another battery before (re-used, repurposed, remanufactured) [item]

composition.mass_kg | kg | weight of the battery
composition.renewable_pct | % | share of renewable content
composition.cadmium_pct | % | share of cadmium by weight
composition.lead_pct | % | share of lead by weight
composition.chemistry | text | chemistry of the battery
composition.extinguishing_agent | texts | usable extinguishing agent
composition.no_hazardous_substances | bool | there is no hazardous substance to list

performance.rated_capacity_ah | Ah | rated capacity
performance.voltage_min_v | V | minimal voltage
performance.voltage_nominal_v | V | nominal voltage
performance.voltage_max_v | V | maximum voltage
performance.voltage_temperature_min_c | degC | lowest temperature for which the voltages hold
performance.voltage_temperature_max_c | degC | highest temperature for which the voltages hold
performance.power_at_80_w | W | original power capability at 80 % state of charge
performance.power_at_20_w | W | original power capability at 20 % state of charge
performance.power_limit_w | W | power limit
performance.power_limit_temperature_min_c | degC | lowest temperature for which the power limit holds
performance.power_limit_temperature_max_c | degC | highest temperature for which the power limit holds
performance.c_rate_per_h | 1/h | C-rate of the cycle-life test
performance.exhaustion_threshold_pct | % | capacity threshold for exhaustion
performance.idle_temperature_min_c | degC | lowest temperature when not in use
performance.idle_temperature_max_c | degC | highest temperature when not in use
performance.warranty_months | months | commercial warranty for the calendar life
performance.life_years | years | expected calendar life
performance.efficiency_initial_pct | % | initial round trip energy efficiency
performance.efficiency_half_life_pct | % | round trip energy efficiency at half of the cycle life
performance.resistance_cell_mohm | mOhm | internal resistance of a cell
performance.resistance_pack_mohm | mOhm | internal resistance of the pack
performance.usable_kwh | kWh | energy that one full discharge delivers
performance.self_discharge_pct_per_month | %/month | initial self-discharge rate
performance.life_cycles | integer | expected lifetime in cycles
performance.life_cycles_test | text | reference test for the lifetime in cycles
performance.idle_temperature_test | text | reference test for the temperatures when not in use

recycled.cobalt_pct | % | share of cobalt recovered from waste
recycled.lithium_pct | % | share of lithium recovered from waste
recycled.nickel_pct | % | share of nickel recovered from waste
recycled.lead_pct | % | share of lead recovered from waste
recycled.pre_consumer_cobalt_pct | % | share of cobalt recovered before use
recycled.pre_consumer_lithium_pct | % | share of lithium recovered before use
recycled.pre_consumer_nickel_pct | % | share of nickel recovered before use
recycled.pre_consumer_lead_pct | % | share of lead recovered before use
recycled.post_consumer_cobalt_pct | % | share of cobalt recovered after use
recycled.post_consumer_lithium_pct | % | share of lithium recovered after use
recycled.post_consumer_nickel_pct | % | share of nickel recovered after use
recycled.post_consumer_lead_pct | % | share of lead recovered after use

carbon.raw_material_kg | kgCO2e | footprint of raw materials, of the whole battery
carbon.production_kg | kgCO2e | footprint of production, of the whole battery
carbon.distribution_kg | kgCO2e | footprint of distribution, of the whole battery
carbon.end_of_life_kg | kgCO2e | footprint of the end of life, of the whole battery
carbon.raw_material_per_kwh_kg | kgCO2e/kWh | declared footprint of raw materials per kWh
carbon.production_per_kwh_kg | kgCO2e/kWh | declared footprint of production per kWh
carbon.distribution_per_kwh_kg | kgCO2e/kWh | declared footprint of distribution per kWh
carbon.end_of_life_per_kwh_kg | kgCO2e/kWh | declared footprint of the end of life per kWh
carbon.per_kwh_kg | kgCO2e/kWh | declared footprint per kWh of the total energy over the service life
carbon.absolute_t | tCO2e | declared footprint of the whole battery
carbon.performance_class | text | carbon footprint performance class
carbon.declaration_id | text | identifier of the EU declaration of conformity of the footprint
carbon.plant | text | plant for which the footprint holds
carbon.study_url | url | public study behind the footprint

due_diligence.report_url | url | due diligence report
due_diligence.summary | texts | key facts of the due diligence report
due_diligence.period | text | time that the due diligence report covers
due_diligence.assurance | text | third-party assurance of the due diligence
due_diligence.supply_chain_index | decimal | supply chain index

label.separate_collection_symbol | bool | the symbol for separate collection is on it
label.meaning_url | url | what the labels and symbols mean

conformity.declaration_id | text | identifier of the EU declaration of conformity
conformity.declaration_url | url | EU declaration of conformity
conformity.test_results | texts | results of test reports that prove compliance

waste.prevention | texts | role of end-users in preventing waste
waste.separate_collection | texts | role of end-users in separate collection
waste.treatment | texts | collection, preparing for re-use and repurposing, treatment
waste.safety | texts | safety instructions for handling waste batteries
waste.symbols | texts | meaning of labels and symbols
waste.impact | texts | impact of substances on environment and health

dismantling.diagrams | texts | exploded diagrams with the places of the cells
dismantling.sequence | texts | disassembly sequences
dismantling.fastening | texts | type and number of fastening techniques
dismantling.tools | texts | tools for disassembly
dismantling.warnings | texts | warnings, where parts can be damaged
dismantling.cells | texts | number of cells and layout

safety.measures | texts | safety measures

instructions.use_url | url | instructions for use

registry.backup_url | url | back-up copy of the passport [item]
registry.registration_id | text | identifier of the registration [item]
"""

# All of the item.
_MEASURED = """
rated_capacity_ah | Ah | rated capacity
capacity_fade_pct | % change | capacity fade
power_w | W | power
power_fade_pct | % change | power fade
resistance_mohm | mOhm | internal resistance
resistance_increase_pct | % change | increase of the internal resistance
efficiency_pct | % | energy round trip efficiency
efficiency_fade_pct | % change | fade of the round trip efficiency
life_years | years | expected calendar life
soce_pct | % | state of certified energy
remaining_capacity_ah | Ah | remaining capacity
remaining_power_w | W | remaining power capability
remaining_efficiency_pct | % | remaining round trip efficiency
self_discharge_pct_per_month | %/month | self-discharge rate
ohmic_resistance_mohm | mOhm | ohmic resistance
temperature_c | degC | temperature of the environment
charge_pct | % | state of charge
energy_throughput_kwh | kWh | energy throughput
capacity_throughput_ah | Ah | capacity throughput
minutes_hot | min | time in extreme heat
minutes_cold | min | time in extreme cold
minutes_charging_hot | min | time charging in extreme heat
minutes_charging_cold | min | time charging in extreme cold
full_cycles | decimal | full equivalent cycles
remaining_energy_kwh | kWh | remaining usable energy
life_cycles | integer | expected life in cycles under reference conditions
cycles | integer | charging and discharging cycles
deep_discharges | integer | deep discharge events
overcharges | integer | overcharge events
"""

# Members of the facts that are lists, one fact per row; those with "?" may be absent.
LISTS: Mapping[str, str] = {
    "Component": (
        "part material mass_kg share_pct? part_number? cas? role? critical? renewable? recycled_pct?"
    ),
    "Substance": "name cas? ec? class share_pct? location?",
    "SpareSource": "name address? contact? web? part_numbers?",
    "NegativeEvent": "at what",
    "Attachment": "kind sha256 size media_type language? audience title?",
    "Footprint": "form id? product_name? declared_unit declared_amount kg_co2e method? phases?",
    "Part": "part_number name? maker? quantity? unit? built_at?",
}
ROLES = ("cathode", "anode", "electrolyte", "separator", "housing", "other")

# What a unit cannot hold. A footprint may be a credit, so it has no bounds.
MOST = Decimal(10**12)  # of anything that is weighed or counted in a battery
_AMOUNTS = ("kg", "Ah", "V", "W", "kWh", "mOhm", "1/h", "months", "years", "min")
_BOUNDS: Mapping[str, tuple[Decimal, Decimal | None]] = {
    "%": (Decimal(0), Decimal(100)),
    "%/month": (Decimal(0), Decimal(100)),
    "% change": (Decimal(-100), None),
    "degC": (Decimal("-273.15"), Decimal(10_000)),
    **dict.fromkeys(_AMOUNTS, (Decimal(0), MOST)),
}
_UNITS = frozenset({*_BOUNDS, "kgCO2e", "kgCO2e/kWh", "tCO2e"})


def _entry(line: str, scope: Scope) -> Entry:
    name, kind, words = (part.strip() for part in line.split("|"))
    word, *choices = kind.split() if kind.startswith(Kind.CHOICE) else [kind]
    is_unit = word in _UNITS
    least, most = _BOUNDS.get(word, (None, None))
    return Entry(
        name=name,
        kind=Kind.DECIMAL if is_unit else Kind(word),
        words=words.removesuffix(" [item]"),
        unit=word.removesuffix(" change") if is_unit else "",
        scope=Scope.ITEM if words.endswith("[item]") else scope,
        choices=tuple(choices),
        least=least,
        most=most,
    )


def _entries(table: str, scope: Scope) -> dict[str, Entry]:
    found = [_entry(line, scope) for line in table.splitlines() if line]
    return {entry.name: entry for entry in found}


VALUES: Mapping[str, Entry] = _entries(_VALUES, Scope.MODEL)
MEASURED: Mapping[str, Entry] = _entries(_MEASURED, Scope.ITEM)
