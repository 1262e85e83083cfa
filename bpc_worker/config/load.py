"""What the worker is told: defaults < file < environment < flags, as one frozen Settings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType

import msgspec

from bpc_worker.config.checks import validate
from bpc_worker.config.settings import KEYS, Settings
from bpc_worker.config.sources import Draft, take_environment, take_file, take_flags
from bpc_worker.handler_api import Command

_NO_FLAGS: Mapping[str, object] = MappingProxyType({})


class ConfigError(Exception):
    """Everything that is wrong with the configuration, at once."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def load(
    *,
    env: Mapping[str, str],
    flags: Mapping[str, object] = _NO_FLAGS,
    config_path: str | None = None,
    default_worker_id: str = "bpc-worker",
) -> Settings:
    """The effective settings, or ConfigError with all that is wrong."""
    draft = Draft()
    draft.values["worker.id"] = default_worker_id
    take_file(draft, config_path or env.get("BPC_CONFIG"))
    take_environment(draft, env)
    take_flags(draft, flags)
    validate(draft)
    if draft.problems:
        raise ConfigError(draft.problems)
    return _settings(draft)


def _settings(draft: Draft) -> Settings:
    sections: defaultdict[str, dict[str, object]] = defaultdict(dict)
    for name, value in draft.values.items():
        section, _, leaf = name.rpartition(".")
        sections[section][leaf] = value
    sources = {key.name: draft.sources[key.name] for key in KEYS if not key.part}
    return msgspec.convert(
        {**sections.pop(""), **sections, "sources": sources, "hints": draft.hints}, Settings
    )


def describe(settings: Settings) -> list[tuple[str, str, str]]:
    """Key, value and source of every setting; nothing in it is secret."""
    from bpc_worker.observability.log import redact

    return [
        (name, redact(_shown(attrgetter(name)(settings))), source)
        for name, source in settings.sources.items()
    ]


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.15g}"
        case bytes():
            return "***"
        case Command():
            return value.argv[0]
        case dict():  # of commands and schedules only the names: what is in them may be secret
            return ", ".join(
                f"{name}={_shown(each)}" if isinstance(each, int | float) else name
                for name, each in value.items()
            )
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
