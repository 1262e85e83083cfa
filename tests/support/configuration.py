"""Configuration that goes wrong, in one line."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bpc_worker.config.load import ConfigError, load

NOTHING: Mapping[str, str] = {}


def problems(
    env: Mapping[str, str] = NOTHING,
    *,
    flags: Mapping[str, object] = NOTHING,
    config_path: str | None = None,
) -> tuple[str, ...]:
    """Everything that `load` complains about."""
    with pytest.raises(ConfigError) as caught:
        load(env=env, flags=flags, config_path=config_path)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def problem(
    env: Mapping[str, str] = NOTHING,
    *,
    flags: Mapping[str, object] = NOTHING,
    config_path: str | None = None,
) -> str:
    """The only thing that `load` complains about."""
    [only] = problems(env, flags=flags, config_path=config_path)
    return only


def file(text: str) -> str:
    """A configuration file in the working directory."""
    Path("file.yaml").write_text(text, encoding="utf-8")
    return "file.yaml"
