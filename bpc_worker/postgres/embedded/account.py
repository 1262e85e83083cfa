"""Running programs and keeping folders on behalf of the account that the server runs under."""

import os
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pwd import struct_passwd  # no such module on Windows, where the refusal must still import

_PROGRAM_SECONDS = 90  # longer than the programs wait for the server


class EmbeddedPostgresError(Exception):
    """What went wrong, why, and what to do about it, in words for whoever started the program."""


def passwd_entry(account: str) -> "struct_passwd":
    import pwd

    try:
        return pwd.getpwnam(account)
    except KeyError:
        raise EmbeddedPostgresError(f"There is no account {account!r} on this machine.") from None


def account_named(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        raise EmbeddedPostgresError(f"User id {uid} owns the data but has no account.") from None


def unprivileged_account() -> str | None:
    """Who runs the server: this user (None), or for root an account that is there anyway."""
    import pwd

    if os.geteuid() != 0:
        return None
    for account in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(account).pw_name
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and there is neither an account 'postgres' nor 'nobody' "
        "to run it: start as an ordinary user, or set BPC_DATABASE_URL."
    )


def run_program(command: list[str], account: str | None) -> subprocess.CompletedProcess[str]:
    """The ended program with its output; its own failure is the caller's to judge."""
    who = None if account is None else passwd_entry(account)
    try:
        return subprocess.run(  # noqa: S603 - a fixed program, arguments without a shell
            command,
            user=None if who is None else who.pw_uid,
            group=None if who is None else who.pw_gid,
            extra_groups=None if who is None else [],
            cwd="/",  # ours may be closed to the account
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PROGRAM_SECONDS,
            start_new_session=True,  # Ctrl-C is for us; a half-started server helps nobody
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        as_whom = "" if account is None else f" as {account}"
        raise EmbeddedPostgresError(f"Cannot run {command[0]}{as_whom}: {error}.") from error


def private_folder(folder: Path, account: str | None) -> None:
    """Make a folder that only the account can enter, or refuse what stands in its place."""
    owner = os.geteuid() if account is None else passwd_entry(account).pw_uid
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedPostgresError(f"{folder} is not a folder (a link does not count): remove it.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise EmbeddedPostgresError(f"{folder} is open to other users: chmod 700 it or remove it.")
    if account is not None and found.st_uid == os.geteuid():
        os.chown(folder, owner, passwd_entry(account).pw_gid, follow_symlinks=False)
    elif found.st_uid != owner:
        raise EmbeddedPostgresError(
            f"{folder} belongs to user id {found.st_uid} instead of {owner}: remove it."
        )


def _environment() -> dict[str, str]:
    """Neither our secrets nor the user's PG… variables reach the server."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **kept}
