"""An external program that RUN_COMMAND may start, as the configuration allows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    argv: tuple[str, ...]
    timeout_seconds: float = 60.0
    memory_mb: int | None = None  # of each of its processes
    cpu_seconds: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
