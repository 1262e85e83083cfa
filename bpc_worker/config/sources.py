"""The layers of the configuration, read one over the other: file, environment, flags."""

import difflib
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from bpc_worker.config.aliases import DROPPED, Alias
from bpc_worker.config.keys import Key
from bpc_worker.config.kinds import NotAllowedError
from bpc_worker.config.settings import KEYS
from bpc_worker.config.yaml import load_strict

DEFAULT_PATH = "bpc-worker.yaml"
_BY_NAME = {key.name: key for key in KEYS}
_NAMES = [name for key in KEYS for name in key.names]
_OF_COMMANDS = ("BPC_CONFIG", "BPC_KEYS_FILE", "BPC_TENANT", "BPC_WEBHOOK_SECRET")  # options, no settings
_VARIABLES = [
    *_OF_COMMANDS,
    *(name for key in KEYS for name in key.variables),
    *(f"{name}_FILE" for key in KEYS if key.secret for name in key.variables),
]
_BY_OTHERS = stat.S_IRWXO
_IGNORED = ("BPC_TEST_", "BPC_BENCH_")
# Kubernetes tells every pod about a service called "bpc" or "bpc-…" in such variables.
_SERVICE_LINK = re.compile(r"BPC_(\w+_)?(SERVICE_(HOST|PORT\w*)|PORT_\d+_(TCP|UDP|SCTP)\w*)")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


class Draft:
    """What is known so far, and everything that was wrong with it."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {key.name: key.default for key in KEYS}
        self.sources = dict.fromkeys(_BY_NAME, "default")
        self.failed: set[str] = set()
        self.problems: list[str] = []
        self.hints: list[str] = []
        self.open_files: dict[str, str] = {}  # variables that name a secret's file, and that others may read

    def take(self, key: Key, value: object, source: str, name: str = "") -> None:
        """The value under one of the key's names, if it is allowed."""
        old = key.alias(name)
        try:
            self.values[key.name] = self._parsed(key, old, value)
        except (ValueError, RecursionError) as error:
            detail = f" ({error})" if isinstance(error, NotAllowedError) else ""
            shown = "***" if key.secret else repr(value)[:100]
            of = f" for {key.name}{', ' if old.note else ''}{old.note}" if old in key.aliases else ""
            self.refuse(key, source, f"{shown} is not allowed; allowed{of}: {key.kind.allowed}{detail}")
        else:
            former = self.sources[key.name] if old.entry and self.sources[key.name] != "default" else ""
            self.sources[key.name] = f"{former}, {source}" if former else source

    def _parsed(self, key: Key, old: Alias, value: object) -> object:
        given = old.convert(value)
        if old.entry is None:
            return key.kind.parse(given)
        so_far = self.values[key.name]
        return key.kind.parse({**(so_far if isinstance(so_far, dict) else {}), old.entry: given})

    def refuse(self, key: Key, source: str, text: str) -> None:
        self.problems.append(f"{key.name} ({source}): {text}")
        self.failed.add(key.name)

    def complain(self, name: str, text: str) -> None:
        """About a value that is allowed by itself, but not beside the others."""
        self.problems.append(f"{self.origin(name)}: {text}")

    def has(self, name: str) -> bool:
        """Whether it has a value, be it a bad one that is reported anyway."""
        return self.values[name] is not None or name in self.failed

    def origin(self, *names: str) -> str:
        return ", ".join(f"{name} ({self.sources[name]})" for name in names)

    def pick(self, key: Key, names: tuple[str, ...], given: Iterable[str]) -> list[str]:
        """The first of the names that is given, or all that are one entry each; old names earn a hint."""
        found = [name for name in names if name in given]
        used = [
            name for name in found if name == found[0] or (key.alias(name).entry and found[0] != names[0])
        ]
        for name in found:
            if name != names[0]:
                ignored = f", and ignored because of {found[0]}" if name not in used else ""
                self.hints.append(f"{name} is an old name of {names[0]}{key.alias(name).remark}{ignored}")
        return used


def take_file(draft: Draft, path: str | None) -> None:
    """A file that is named must be there; the one in the working directory may be missing."""
    source = f"file:{path or DEFAULT_PATH}"
    try:
        given = _read_yaml(Path(path or DEFAULT_PATH))
    except FileNotFoundError:
        if path:
            draft.problems.append(f"{source}: there is no such file")
        return
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        draft.problems.append(f"{source}: {_why_unreadable(error)}")
        return
    for key in KEYS:
        for name in draft.pick(key, key.names, given):
            if given[name] is not None:
                draft.take(key, given[name], source, name)
    dropped = [name for name in DROPPED if any(_is_below(other, name) for other in given)]
    draft.hints += [f"{name} is not used any more: {DROPPED[name]}" for name in dropped]
    for name, value in given.items():
        if name not in _NAMES and not any(_is_below(name, unused) for unused in dropped):
            draft.problems += _unknown_key(f"{name} ({source})", name, value)


def take_environment(draft: Draft, env: Mapping[str, str]) -> None:
    """An empty variable counts as not given, as templates leave them behind."""
    given = {name: value for name, value in env.items() if value}
    for key in KEYS:
        readable = [
            name for name in key.variables if name in given or (key.secret and f"{name}_FILE" in given)
        ]
        for variable in draft.pick(key, key.variables, readable):
            _take_variable(draft, key, variable, given)
    for name, value in env.items():
        if name.startswith("BPC_") and name not in _VARIABLES and not _is_ignored(name, value):
            draft.problems.append(f"env:{name}: unknown variable{_did_you_mean(name, _VARIABLES)}")


def take_flags(draft: Draft, flags: Mapping[str, object]) -> None:
    """Flags are given under the dotted name; None is a flag that was not used."""
    for name, value in flags.items():
        if name not in _BY_NAME:
            draft.problems.append(f"{name} (flag): unknown key{_did_you_mean(name, _BY_NAME)}")
        elif value is not None:
            draft.take(_BY_NAME[name], value, "flag")


def _take_variable(draft: Draft, key: Key, variable: str, given: Mapping[str, str]) -> None:
    path = given.get(f"{variable}_FILE") if key.secret else None
    source = f"env:{variable}"
    if path is None:
        draft.take(key, given[variable], source, variable)
    elif variable in given:
        draft.refuse(key, source, f"is given, and {variable}_FILE too; give one of them")
    else:
        try:
            content = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            draft.refuse(key, f"{source}_FILE", f"cannot read {path!r}: {_why_unreadable(error)}")
        else:
            draft.take(key, content.rstrip("\r\n"), f"{source}_FILE", variable)
            if Path(path).stat().st_mode & _BY_OTHERS:
                draft.open_files[f"{variable}_FILE"] = path


def _is_ignored(name: str, value: str) -> bool:
    linked = name.endswith("_PORT") and _SERVICE_ADDRESS.match(value)
    return name.startswith(_IGNORED) or bool(_SERVICE_LINK.fullmatch(name) or linked)


def _is_below(name: str, section: str) -> bool:
    return name == section or name.startswith(f"{section}.")


def _unknown_key(where: str, name: str, value: object) -> Iterator[str]:
    if not any(_is_below(known, name) for known in _NAMES):
        yield f"{where}: unknown key{_did_you_mean(name, _BY_NAME)}"
    elif value is not None:
        yield f"{where}: is a section; its keys stand below it"


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _read_yaml(path: Path) -> dict[str, object]:
    root = load_strict(path.read_text(encoding="utf-8"))
    if root is not None and not isinstance(root, dict):
        raise NotAllowedError("the root must be a mapping")
    given: dict[str, object] = {}
    for name, value in _flat(root or {}, ""):
        if name in given:
            raise NotAllowedError(f"{name} is given twice")
        given[name] = value
    return given


def _flat(section: Mapping[object, object], prefix: str) -> Iterator[tuple[str, object]]:
    """A section is the same as its keys with a dot; what is below a key belongs to its value."""
    for key, value in section.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and name not in _BY_NAME:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _why_unreadable(error: Exception) -> str:
    """The reason without any of the text, which may hold secrets."""
    match error:
        case NotAllowedError():
            return str(error)
        case OSError():
            return error.strerror or "it cannot be read"
        case yaml.MarkedYAMLError(problem_mark=yaml.Mark() as mark):
            return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case _:
            return "it is not valid YAML"
