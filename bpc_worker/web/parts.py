"""What every door is made with."""

from dataclasses import dataclass

from bpc_worker.config.settings import Settings
from bpc_worker.registry import Registry
from bpc_worker.web.database.roles import WebDatabase
from bpc_worker.web.database.tokens import StoredTokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    settings: Settings
    registry: Registry
    database: WebDatabase
    tokens: StoredTokens
