"""Would a child, or a program, that somebody has taken over get anywhere?"""

import os
import sys
from collections.abc import Iterator

from bpc_worker.config.settings import Settings
from bpc_worker.doctor.findings import Finding
from bpc_worker.processes import seccomp
from bpc_worker.processes.confinement import AccountError, account_of

_ACCOUNT = "useradd --system --no-create-home --shell /usr/sbin/nologin bpc-child\n"
_NAMED = "export BPC_WORKER_CHILD_ACCOUNT=bpc-child"


def check(settings: Settings) -> Iterator[Finding]:
    if sys.platform != "linux":
        yield Finding(
            check="children.platform",
            what=f"a worker on this system, {sys.platform}, starts no children",
            why="nothing that confines them exists here: jobs that need one fail with CHILD_DIED",
            fix="uname -s  # must say Linux: run workers there, in a container say",
            paste="shell",
        )
        return
    unfiltered, name = seccomp.why_not(), settings.worker.child_account
    if unfiltered is not None:
        yield Finding(
            check="children.unfiltered",
            what=f"children and programs run without a filter of system calls: {unfiltered}",
            why="one that somebody has taken over can open sockets; the rest of its confinement holds",
            fix="uname -rm  # a kernel with CONFIG_SECCOMP_FILTER, or rules of a firewall for the account",
            paste="shell",
            level="note",
        )
    if name is None and os.geteuid() == 0 and settings.env == "prod":
        yield Finding(
            check="children.root",
            what="no worker.child_account is set; where the worker is root, as we are, so are its children",
            why="they have no capabilities, but own every file of root's, keys among them",
            fix=f"{_ACCOUNT}{_NAMED}  # or start the worker under an account of its own",
            paste="shell",
            level="note",
        )
    if name is not None:
        yield from _wrong_account(name)


def _wrong_account(name: str) -> Iterator[Finding]:
    try:
        account_of(name)
    except AccountError as error:
        yield Finding(
            check="children.account",
            what=f"worker.child_account: {error}",
            why="a worker refuses to start with it",
            fix=f"{_ACCOUNT}{_NAMED}",
            paste="shell",
        )
