"""Is the configuration valid, and free of old names?"""

import re
from collections.abc import Iterator, Sequence

from bpc_worker.config.settings import Settings
from bpc_worker.doctor.findings import Finding


def problems(found: Sequence[str]) -> Iterator[Finding]:
    """Why no worker starts with this configuration."""
    for problem in found:
        if (reason := re.search(r" plain TCP, .*\((BPC_\w+_ALLOW_PLAIN)\)", problem)) is not None:
            yield _plain(problem, reason[1])
            continue
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


def _plain(problem: str, variable: str) -> Finding:
    return Finding(
        check="configuration.plain",
        what=problem,
        why="a worker refuses to start with it: passwords, documents and results could be read on the way",
        fix=f"export {variable}='a service mesh encrypts it'  # if that is so; else change the URL",
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
        if (secret := _open_secret(hint)) is not None:
            yield secret
            continue
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


def _open_secret(hint: str) -> Finding | None:
    """A key, or a secret's file, that others than the worker can read."""
    if (held := re.match(r"(BPC_\w+) holds a key", hint)) is not None:
        name, file = held[1], f"{held[1].lower()}.key"
        check = "configuration.key_in_environment"
        written = f'(umask 077; printf %s "${name}" > {file})'
        fix = f'{written}\nexport {name}_FILE="$PWD/{file}"; unset {name}'
    elif (open_ := re.search(r" may read the secret; (chmod o= .*)", hint)) is not None:
        check, fix = "configuration.open_secret", open_[1]
    else:
        return None
    why = "whoever has it signs, opens or derives what only this installation should"
    return Finding(check=check, what=hint, why=why, fix=fix, paste="shell", level="note")
