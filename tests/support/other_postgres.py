"""A second, older PostgreSQL, where plans may differ: what is installed, or got by `apt-get` as root."""

import os
import subprocess
from functools import cache
from pathlib import Path

OLDER = 15


@cache
def older_bin_dir() -> Path | None:
    """Its programs; None where it cannot be had."""
    named = os.environ.get("BPC_TEST_OLDER_PG_BIN")
    folder = Path(named) if named else Path(f"/usr/lib/postgresql/{OLDER}/bin")
    if not (folder / "postgres").exists() and os.geteuid() == 0 and os.environ.get("CI") == "true":
        _install()
    return folder if (folder / "postgres").exists() else None


def _install() -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)  # type: ignore[call-overload]
    subprocess.run(
        ["apt-get", "install", "-y", "-qq", f"postgresql-{OLDER}"],
        check=False,
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        **quiet,
    )  # type: ignore[call-overload]
