"""What children and programs give away before they touch anything that somebody else wrote, for good.

Only the standard library: the watcher of programs imports it.
"""

import ctypes
import os
import pwd
from contextlib import suppress
from pathlib import Path

from bpc_worker.processes import seccomp
from bpc_worker.processes.libc import checked, libc

Account = tuple[int, int]  # of the user, and of the group

_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES_VERSION = 0x20080522
_OOM = Path("/proc/self/oom_score_adj")
_SOONER, _SOONEST = 500, 1000


class AccountError(ValueError):
    """No account that children could have."""


def account_of(name: str) -> Account:
    """By its name, or its number, which need not be anybody's."""
    try:
        found = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except KeyError:
        if not name.isdecimal():
            raise AccountError(f"there is no account {name!r} on this machine") from None
        account = int(name), int(name)
    else:
        account = found.pw_uid, found.pw_gid
    if 0 in account:
        raise AccountError(f"{name!r} is root, or of root's group: children are to be somebody else")
    return account


def offer_to_the_oom_killer() -> None:
    """Where memory runs out, this process goes before its worker. Not possible any more once it is closed."""
    with suppress(OSError, ValueError):  # no such file in some sandboxes: it is a wish
        _OOM.write_text(str(min(_SOONEST, int(_OOM.read_text()) + _SOONER)))


def confine(account: Account | None, *, network: bool) -> None:
    """All of it: for good, and for everything that is started from here.

    Whoever wants to die with its parent says so afterwards: a change of account takes that back.
    """
    become(account)
    filter_calls(network=network)


def become(account: Account | None) -> None:
    """Another account, where there is one, and no capability."""
    if account is not None:
        user, group = account
        os.setgroups([group])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    checked(libc().capset(header, none), "capabilities are kept")


def filter_calls(*, network: bool) -> None:
    """No way to more rights than there are, and a filter of system calls."""
    checked(libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "new privileges are possible")
    seccomp.install(network=network)
