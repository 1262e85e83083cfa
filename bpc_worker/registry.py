"""Find handlers by entry point; refuse duplicates, strangers and what does not load."""

from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points

import msgspec

from bpc_worker.handler_api import HandlerSpec

GROUP = "bpc_worker.handlers"
_OURS = "bpc-worker"
_PACKAGE = "handlers"
_OWN_FILES = (f"{_PACKAGE}/", f"{_PACKAGE}.py,")  # as a line of a RECORD begins

Registry = Mapping[str, HandlerSpec[msgspec.Struct]]


class RegistryError(Exception):
    """All that is wrong with the installed handlers."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(points: Iterable[EntryPoint] | None = None) -> Registry:
    """Every handler, loaded now: a broken import is a failed start and not a failed job at night."""
    found: dict[str, HandlerSpec[msgspec.Struct]] = {}
    problems = [*_stolen_names()] if points is None else []
    for point in sorted(points if points is not None else entry_points(group=GROUP)):
        spec, problem = _load_one(point)
        if spec is None:
            problems.append(problem)
        elif spec.job_type in found:
            problems.append(f"{point.name}: two handlers for one type; uninstall one of them")
        else:
            found[spec.job_type] = spec
    if problems:
        raise RegistryError(tuple(problems))
    return found


def _load_one(point: EntryPoint) -> tuple[HandlerSpec[msgspec.Struct] | None, str]:
    where = f"{point.name} = {point.value}"
    try:
        spec = point.load()
    except Exception as error:  # noqa: BLE001 - whatever a foreign module raises while it loads
        return None, f"{where}: does not load: {type(error).__name__}: {error}"
    if not isinstance(spec, HandlerSpec):
        return None, f"{where}: is a {type(spec).__name__}, not a HandlerSpec"
    if spec.job_type != point.name:
        return None, f"{where}: the entry point's name differs from job type {spec.job_type}"
    return spec, ""


def _stolen_names() -> Iterable[str]:
    """`handlers` is a general name: another distribution that ships one overwrites our files silently."""
    others = {each.metadata["Name"] for each in distributions() if _ships_our_name(each)} - {_OURS}
    for other in sorted(others):
        yield (
            f"the distribution {other} also ships a top-level package '{_PACKAGE}'; "
            "uninstall it, or give its package another name (handlers register by entry point)"
        )


def _ships_our_name(found: Distribution) -> bool:
    """By its text alone: `packages_distributions` reads all of each, and every start would wait for it."""
    named = found.read_text("top_level.txt")
    if named is not None:
        return _PACKAGE in named.split()
    files = found.read_text("RECORD")
    if files is not None:
        return files.startswith(_OWN_FILES) or any(f"\n{each}" in files for each in _OWN_FILES)
    return any(str(each).startswith(_OWN_FILES) for each in found.files or ())
