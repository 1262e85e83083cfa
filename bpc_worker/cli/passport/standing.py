"""Whether a passport version is in force, where that can be known: in the database, or from a status list.

A signature tells what was issued, for ever. What became of it since is told by the issuer alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bpc_worker.cli._common.output import EXIT_USAGE, fail, refused

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.cli._common.trust import Trusted
    from bpc_worker.core.passport.receipt import Receipt
    from bpc_worker.core.passport.status_list import StatusList
    from bpc_worker.pipeline.stored import StoredVersion

_MOST_LIST_BYTES = 1024 * 1024
_CLOCKS_MAY_DIFFER_SECONDS = 300
_NAMES = {"SIGNED": "NOT_IN_FORCE"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about it; `status` None: nothing."""

    status: str | None = None
    source: str | None = None
    superseded_by: str | None = None

    @property
    def revoked(self) -> bool:
        return self.status == "REVOKED"

    @property
    def current(self) -> bool | None:
        return None if self.status is None else self.status == "ACTIVE"

    @property
    def verdict(self) -> str:
        """Of a passport whose signatures and hashes hold."""
        match self.status:
            case "ACTIVE":
                return "valid and in force"
            case "REVOKED":
                return "not valid: revoked"
            case "SUPERSEDED" if self.superseded_by:
                return f"valid as issued, superseded by {self.superseded_by}"
            case "SUPERSEDED":
                return "valid as issued, superseded"
            case None:
                return "valid as issued"
            case _:
                return "valid as issued, not in force"

    def members(self) -> dict[str, object]:
        """In the output for programs."""
        return {
            "status": self.status,
            "status_from": self.source,
            "current": self.current,
            "superseded_by": self.superseded_by,
        }


def of_database(stored: "StoredVersion") -> Standing:
    status = str(stored.row.status)
    return Standing(_NAMES.get(status, status), "the database", stored.superseded_by)


def of_list(file: Path | None, keys: "Trusted", receipt: "Receipt") -> Standing:
    """Of a status list that was fetched; without one, nothing is known."""
    if file is None:
        return Standing()
    from bpc_worker.core.base.signing import SignatureError
    from bpc_worker.core.passport.status_list import StatusListError, verify_status_list
    from bpc_worker.files.reading import read_at_most

    hint = f"fetch it again from {receipt.status_list_uri}"
    with refused((OSError, ValueError), hint, what=f"--status-list {file}: "):
        text = read_at_most(file, _MOST_LIST_BYTES).decode("ascii").strip()
    with refused((SignatureError, StatusListError), hint, what=f"--status-list {file}: "):
        found = verify_status_list(text, keys.registry)
        if trouble := _trouble(found, receipt):
            raise StatusListError("", trouble)
        status = found.status(receipt.status_list_idx)
    return Standing(status.name, f"{file} of {_moment(found.issued_at)}")


def _trouble(found: "StatusList", receipt: "Receipt") -> str | None:
    from bpc_worker.ids import unix_time

    if found.uri != receipt.status_list_uri:
        return f"it is {found.uri}, another list: the passport's is {receipt.status_list_uri}"
    if found.issued_at > unix_time() + _CLOCKS_MAY_DIFFER_SECONDS:
        return f"it is of the future: {_moment(found.issued_at)}"
    if found.expires_at <= unix_time():
        return f"it expired at {_moment(found.expires_at)}, and says nothing any more"
    return None


def _moment(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def must_be_known(standing: Standing, receipt: "Receipt") -> None:
    """What --current asks for."""
    if standing.status is None:
        fail(
            EXIT_USAGE,
            "--current: status not known offline",
            f"name --status-list FILE, a copy of {receipt.status_list_uri}; or ask the issuer's database, "
            "with --tenant and the id of the version",
        )
