"""A carbon footprint by life cycle stage to values `carbon.<stage>_kg`, in kg CO2e for the whole battery."""

from collections.abc import Mapping
from decimal import Decimal

from bpc_worker.documents import values
from bpc_worker.documents.checks import STAGES, check_sum
from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.csv_text import place_of
from bpc_worker.documents.reading.decimal_text import Spelling, text_of
from bpc_worker.documents.reading.record import Record
from bpc_worker.documents.reading.table import Sheet, lines

_TOTAL = "total"  # may stand beside the stages, and must be their sum
_ROWS = (*STAGES, _TOTAL)
COLUMNS = {word: word for word in ("stage", "kg_co2e")} | {"kgco2e": "kg_co2e", "lifecycle_stage": "stage"}


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    top.only(("declared_unit", "stages"))
    top.need("declared_unit", _whole_battery)
    stages = top.inner("stages")
    if stages is None:
        return []
    stages.only(_ROWS)
    found: dict[str, tuple[Decimal, str]] = {}
    for name in _ROWS:
        stage = None if name == _TOTAL and name not in stages.values else stages.inner(name)
        if stage is not None:
            stage.only(("kg_co2e",))
            amount = stage.need("kg_co2e", readings.decimals(limits))
            if amount is not None:
                found[name] = amount, stage.where("kg_co2e")
    return _facts(found, top.problems)


def from_table(sheet: Sheet, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    found: dict[str, tuple[Decimal, str]] = {}
    for line in lines(sheet, COLUMNS, lambda _: ("stage", "kg_co2e"), problems):
        stage = line.record.need("stage", readings.one_of(_ROWS))
        amount = line.record.need("kg_co2e", readings.decimals(limits, spelling))
        if stage in found:
            problems.add(line.record.where("stage"), f"stage {stage} stands here a second time; keep one")
        elif stage is not None and amount is not None:
            found[stage] = amount, line.pointer_of("kg_co2e")
    if not problems and (missing := [stage for stage in STAGES if stage not in found]):
        problems.add("", f"stages are missing: {', '.join(missing)}; all four are needed")
    return _facts(found, problems)


def _whole_battery(value: object) -> str:
    if readings.text(value) != "battery":
        raise Unfit("must be battery: the stages are given in kg CO2e for one whole battery")
    return "battery"


def _facts(found: Mapping[str, tuple[Decimal, str]], problems: Problems) -> list[FoundFact]:
    if not problems and _TOTAL in found:
        total, pointer = found[_TOTAL]
        wrong = check_sum(total, [found[stage][0] for stage in STAGES])
        if wrong is not None:
            problems.add(place_of(pointer), f"the total {wrong}")
    return [
        values.value_fact(f"carbon.{stage}_kg", text_of(found[stage][0]), found[stage][1])
        for stage in STAGES
        if stage in found
    ]
