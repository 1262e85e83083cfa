"""The label of a version: its category chooses the template, its public view says what stands on it."""

from collections.abc import Mapping
from types import SimpleNamespace
from uuid import UUID

import pytest

from bpc_worker.carrier import of_version
from bpc_worker.domain.exporting import File
from bpc_worker.handler_api import Permanent

ROW = SimpleNamespace(
    passport_version_id=UUID(int=7),
    unique_identifier="https://id.example/p/0123456789ABCDEF",
    serial="EV78-000417",
    product="EV78",
)
SHOWN = {"identity.category": "EV", "performance.rated_capacity": {"unit": "Ah", "value": "213"}}


def label(monkeypatch: pytest.MonkeyPatch, shown: Mapping[str, object]) -> File:
    monkeypatch.setattr(of_version, "public_fields", lambda _: shown)
    return of_version.label_of(SimpleNamespace(row=ROW))  # type: ignore[arg-type]  # of it, the row is asked for


@pytest.mark.parametrize("category", ["EV", "LMT", "INDUSTRIAL", "INDUSTRIAL_EXTERNAL_STORAGE"])
def test_a_label_for_every_category_and_the_same_bytes_twice(
    monkeypatch: pytest.MonkeyPatch, category: str
) -> None:
    made = [label(monkeypatch, SHOWN | {"identity.category": category}) for _ in range(2)]

    assert made[0] == made[1]
    assert made[0].name == f"passport-{UUID(int=7)}.label.pdf"
    assert made[0].data.startswith(b"%PDF-")


@pytest.mark.parametrize(("absent", "why"), [(name, f"its public view has no {name}") for name in SHOWN])
def test_what_the_public_view_does_not_say_is_asked_for_by_name(
    monkeypatch: pytest.MonkeyPatch, absent: str, why: str
) -> None:
    with pytest.raises(Permanent) as refused:
        label(monkeypatch, {name: value for name, value in SHOWN.items() if name != absent})

    assert (refused.value.code, why in refused.value.message) == ("VALIDATION_ERROR", True)
