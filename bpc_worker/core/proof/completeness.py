"""missingRequired() of a proof: counted again over the fields that its step rests on."""

from collections.abc import Mapping

from bpc_worker.core.proof.values import Known, StepError, check_shape, expect, read_text, shown
from bpc_worker.core.rules.law import count_missing, paths_of
from bpc_worker.core.rules.values import Empty


def missing_required(params: Mapping[str, object], fields: Mapping[str, Known]) -> int:
    """The count. Which points are asked, the law of the rule text says, and a replay compares that."""
    check_shape("missingRequired", params, {"asked", "law"})
    read_text(params["law"])
    asked = _asked(params["asked"])
    expect(list(fields), paths_of(asked), "the fields of the points")
    values = {path: None if isinstance(value, Empty) else value for path, value in fields.items()}
    return count_missing(asked, values)


def _asked(form: object) -> dict[str, list[str]]:
    if not isinstance(form, dict):
        raise StepError(f"{shown(form)} are no points")
    found = {}
    for point, paths in form.items():
        if not isinstance(paths, list) or not paths:
            raise StepError(f"{shown(paths)} are no fields of a point")
        found[point] = [read_text(path) for path in paths]
    return found
