"""Where the demo is played."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bpc_worker.config.settings import Settings
from bpc_worker.registry import Registry

DATABASE = "bpc_demo"
TENANT = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    settings: Settings
    registry: Registry
    url: str
    out: Path
    console: Console
