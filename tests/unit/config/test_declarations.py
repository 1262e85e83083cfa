"""A setting is declared once: everything else about it follows from its field."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pytest

from bpc_worker.config.keys import keys_of, section, setting
from bpc_worker.config.kinds import text, whole
from bpc_worker.config.load import load
from bpc_worker.config.maps import Schedule, by_type
from bpc_worker.config.settings import KEYS


@section
class Engine:
    speed: Annotated[int, setting(whole(1, 9), "how fast")] = 3
    token: Annotated[str | None, setting(text(9), "who may", env="BPC_ACCESS", secret=True)] = None


@section
class Car:
    engine: Engine
    name: Annotated[str, setting(text(9), "follows from others")]
    seats: Annotated[Mapping[str, int], setting(by_type(whole(1, 9), 4), "per row")] = {"*": 4}
    remark: str  # no setting


def test_names_and_defaults_follow_from_the_place_of_a_field() -> None:
    found = [(key.name, key.env, key.default, key.secret) for key in keys_of(Car)]

    assert found == [
        ("engine.speed", "BPC_ENGINE_SPEED", 3, False),
        ("engine.token", "BPC_ACCESS", None, True),
        ("name", "BPC_NAME", None, False),
        ("seats", "BPC_SEATS", {"*": 4}, False),
    ]


def test_a_section_is_frozen_and_does_not_print_its_secrets() -> None:
    engine = Engine(token="secret")

    assert (engine.speed, engine.token) == (3, "secret")
    assert repr(engine) == "Engine(speed=3)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        engine.speed = 4  # type: ignore[misc]


def test_a_default_that_is_a_mapping_is_not_shared() -> None:
    first, second = (Car(engine=Engine(), name="x", remark="") for _ in range(2))

    assert first.seats == second.seats == {"*": 4}
    assert first.seats is not second.seats


def test_the_password_of_a_url_that_is_made_of_parts_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = {"BPC_DB_HOST": "h", "BPC_DB_USER": "u", "BPC_DB_NAME": "db", "BPC_DB_PASSWORD": "hidden"}
    settings = load(env=parts)

    assert settings.database.url == "postgresql://u:hidden@h/db"
    assert "hidden" not in repr(settings)


def test_the_payload_of_a_schedule_is_not_printed() -> None:
    schedule = Schedule(cron="0 3 * * *", type="RUN_COMMAND", tenant="acme", payload={"token": "hidden"})

    assert repr(schedule) == ("Schedule(cron='0 3 * * *', type='RUN_COMMAND', tenant='acme', queue=None)")


def test_no_default_is_refused_by_its_own_kind() -> None:
    for key in KEYS:
        if key.default is not None:
            given = list(key.default) if isinstance(key.default, tuple) else key.default
            assert key.kind.parse(given) == key.default, key.name
