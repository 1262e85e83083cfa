"""Is the configuration valid, and free of old names?"""

import re
from collections.abc import Iterator, Sequence

from bpc_worker.config.settings import Settings
from bpc_worker.doctor.findings import Finding


def problems(found: Sequence[str]) -> Iterator[Finding]:
    """Why no worker starts with this configuration."""
    for problem in found:
        variables = dict.fromkeys(re.findall(r"\benv:(\w+)", problem))
        fix = (
            f"unset {' '.join(variables)}"
            if variables
            else "bpc-worker config --example  # what may be given"
        )
        yield Finding(
            check="configuration.invalid",
            what=problem,
            why="a worker refuses to start with it",
            fix=f"{fix}  # or set what is allowed" if variables else fix,
            paste="shell",
        )


def handlers(found: Sequence[str]) -> Iterator[Finding]:
    for problem in found:
        yield Finding(
            check="configuration.handlers",
            what=problem,
            why="a worker refuses to start: a handler that is missing now would fail jobs at night",
            fix="pip check  # then install or uninstall the package that is named",
            paste="shell",
        )


def check(settings: Settings) -> Iterator[Finding]:
    for hint in settings.hints:
        renamed = re.match(r"(\w+) is an old name of (BPC_\w+)", hint)
        fix = "bpc-worker config --example  # the names of today"
        if renamed:
            fix = f'export {renamed[2]}="${renamed[1]}"; unset {renamed[1]}  # mind the unit'
        yield Finding(
            check="configuration.old_name",
            what=hint,
            why="old names are read for as long as it is easy",
            fix=fix,
            paste="shell",
            level="note",
        )
