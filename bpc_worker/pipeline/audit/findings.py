"""What a look at the audit trail found, and where."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

import msgspec

from bpc_worker.core.audit.checkpoint import ChainKey

SHOWN_AT_MOST = 1000


class Missing(StrEnum):
    """What is wrong with a chain as a whole; the core has words for what is wrong inside, and since when."""

    NO_HEAD = "NO_HEAD"
    NO_CHAIN = "NO_CHAIN"


class LeafFlaw(StrEnum):
    """What is wrong with the tree over the events."""

    NO_LEAF = "NO_LEAF"
    STRAY_LEAF = "STRAY_LEAF"
    OTHER_EVENT = "OTHER_EVENT"
    OTHER_ROOT = "OTHER_ROOT"


class Finding(msgspec.Struct, frozen=True):
    aggregate_type: str
    aggregate_id: UUID
    aggregate_version: int  # the first that does not hold
    flaw: str
    expected: str
    found: str


class LeafFinding(msgspec.Struct, frozen=True):
    leaf_index: int  # the first that does not hold; of another root, the last below it
    flaw: LeafFlaw
    expected: str
    found: str


@dataclass(slots=True)
class Report:
    tenant_id: UUID
    tenant: str
    chains: int = 0
    events: int = 0
    leaves: int = 0
    broken: int = 0  # chains
    findings: list[Finding] = field(default_factory=list)  # the first SHOWN_AT_MOST of them
    leaf_findings: list[LeafFinding] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return not self.broken and not self.leaf_findings

    def add(self, findings: Iterable[Finding]) -> None:
        """All that was found about one chain."""
        found = list(findings)
        self.broken += bool(found)
        self.findings += found[: SHOWN_AT_MOST - len(self.findings)]


def finding(key: ChainKey, version: int, flaw: StrEnum, expected: str, found: str) -> Finding:
    return Finding(key[0], key[1], version, flaw.value, expected, found)
