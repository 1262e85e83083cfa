"""A carbon footprint by life cycle stage to facts `PcfStage`, in kg CO2e for the whole battery."""

from bpc_worker.documents.model import FoundFact, Limits
from bpc_worker.documents.problems import Problems, Unfit
from bpc_worker.documents.reading import readings
from bpc_worker.documents.reading.decimal_text import Spelling, text_of
from bpc_worker.documents.reading.record import Record, present
from bpc_worker.documents.reading.table import lines

STAGES = ("raw_material", "production", "distribution", "end_of_life")

_COLUMN = {word: word for word in ("stage", "kg_co2e")} | {"kgco2e": "kg_co2e", "lifecycle_stage": "stage"}


def from_json(top: Record, limits: Limits) -> list[FoundFact]:
    top.only(("declared_unit", "stages"))
    top.need("declared_unit", _whole_battery)
    stages = top.inner("stages")
    if stages is None:
        return []
    stages.only(STAGES)
    return [fact for stage in STAGES for fact in _stage(stages, stage, limits)]


def from_csv(text: str, spelling: Spelling, limits: Limits, problems: Problems) -> list[FoundFact]:
    facts: dict[str, FoundFact] = {}
    for line in lines(text, _COLUMN, lambda _: ("stage", "kg_co2e"), limits, problems):
        stage = line.record.need("stage", readings.one_of(STAGES))
        amount = line.record.need("kg_co2e", readings.decimals(limits, spelling))
        if stage in facts:
            problems.add(line.record.where("stage"), f"stage {stage} stands here a second time; keep one")
        elif stage is not None and amount is not None:
            facts[stage] = _fact(stage, text_of(amount), line.pointer)
    if not problems and (missing := [stage for stage in STAGES if stage not in facts]):
        problems.add("", f"stages are missing: {', '.join(missing)}; all four are needed")
    return list(facts.values())


def _whole_battery(value: object) -> str:
    if readings.text(value) != "battery":
        raise Unfit("must be battery: the stages are given in kg CO2e for one whole battery")
    return "battery"


def _stage(stages: Record, name: str, limits: Limits) -> list[FoundFact]:
    stage = stages.inner(name)
    if stage is None:
        return []
    stage.only(("kg_co2e",))
    amount = stage.need("kg_co2e", readings.decimals(limits))
    return [] if amount is None else [_fact(name, text_of(amount), stage.here)]


def _fact(stage: str, kg_co2e: str, pointer: str) -> FoundFact:
    return FoundFact(
        fact_type="PcfStage",
        fact_key=f"stage:{stage}",
        schema_version=1,
        payload=present(kg_co2e=kg_co2e),
        pointer=pointer,
    )
