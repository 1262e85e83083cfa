"""Whether a passport version is in force, where that can be known: in the database, or from a status list.

A signature tells what was issued, for ever. What became of it since is told by the issuer alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bpc_worker.cli._common.output import EXIT_USAGE, fail, refused
from bpc_worker.cli.passport.asked import Asked

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.cli._common.trust import Trusted
    from bpc_worker.core.passport.status_list import StatusList
    from bpc_worker.domain.stored import StoredVersion

_MOST_LIST_BYTES = 1024 * 1024
_CLOCKS_MAY_DIFFER_SECONDS = 300
_NAMES = {"SIGNED": "NOT_IN_FORCE"}


class Issued(Protocol):
    """A receipt, or the claims of a view: where its status is told."""

    @property
    def status_list_uri(self) -> str: ...

    @property
    def status_list_idx(self) -> int: ...


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

    def is_as(self, asked: Asked) -> bool:
        """Whether a passport that holds counts, for what was asked."""
        return not self.revoked and (self.current is True or not asked.current)

    def told(self, issued: Issued) -> str:
        """A line about it."""
        if self.status is None:
            return f"status not known offline; {issued.status_list_uri} tells it"
        return f"status: {self.status}, from {self.source}"

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


def of_list(asked: Asked, keys: "Trusted", issued: Issued) -> Standing:
    """Of a status list that was fetched; without one, nothing is known, which is too little for --current."""
    if asked.list_file is not None:
        return _listed(asked.list_file, keys, issued)
    if asked.current:
        fail(
            EXIT_USAGE,
            "--current: status not known offline",
            f"name --status-list FILE, a copy of {issued.status_list_uri}; or ask the issuer's database, "
            "with --tenant and the id of the version",
        )
    return Standing()


def _listed(file: Path, keys: "Trusted", issued: Issued) -> Standing:
    from bpc_worker.core.base.signing import SignatureError
    from bpc_worker.core.passport.status_list import StatusListError, verify_status_list
    from bpc_worker.files.reading import read_at_most

    hint = f"fetch it again from {issued.status_list_uri}"
    with refused((OSError, ValueError), hint, what=f"--status-list {file}: "):
        text = read_at_most(file, _MOST_LIST_BYTES).decode("ascii").strip()
    with refused((SignatureError, StatusListError), hint, what=f"--status-list {file}: "):
        found = verify_status_list(text, keys.registry)
        if trouble := _trouble(found, issued):
            raise StatusListError("", trouble)
        status = found.status(issued.status_list_idx)
    return Standing(status.name, f"{file} of {_moment(found.issued_at)}")


def _trouble(found: "StatusList", issued: Issued) -> str | None:
    from bpc_worker.ids import unix_time

    if found.uri != issued.status_list_uri:
        return f"it is {found.uri}, another list: the passport's is {issued.status_list_uri}"
    if found.issued_at > unix_time() + _CLOCKS_MAY_DIFFER_SECONDS:
        return f"it is of the future: {_moment(found.issued_at)}"
    if found.expires_at <= unix_time():
        return f"it expired at {_moment(found.expires_at)}, and says nothing any more"
    return None


def _moment(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
