"""How passports are to be verified: the options of `passport verify`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    keys_file: Path | None
    audience: str | None  # of views
    identifier: str | None  # of views
    list_file: Path | None
    current: bool
    tenant: str | None
    as_json: bool
    config_path: str | None
