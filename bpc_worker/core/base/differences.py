"""Where two JSON values differ first."""

from bpc_worker.core.base.forms import shown

Difference = tuple[str, str]  # a JSON pointer, and what stands there against what should


def first_difference(found: object, expected: object) -> Difference | None:
    """None where they are the same."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return _of_objects(found, expected)
    if isinstance(found, list) and isinstance(expected, list):
        return _of_arrays(found, expected)
    if type(found) is type(expected) and found == expected:  # true is not 1
        return None
    return "", f"expected {_plain(expected)}, found {_plain(found)}"


def _of_objects(found: dict[str, object], expected: dict[str, object]) -> Difference | None:
    for key in sorted(found.keys() | expected.keys()):
        if key not in expected:
            return f"/{key}", "it should not be there"
        if key not in found:
            return f"/{key}", "it is missing"
        if (inner := first_difference(found[key], expected[key])) is not None:
            return f"/{key}{inner[0]}", inner[1]
    return None


def _of_arrays(found: list[object], expected: list[object]) -> Difference | None:
    for at, (one, other) in enumerate(zip(found, expected, strict=False)):
        if (inner := first_difference(one, other)) is not None:
            return f"/{at}{inner[0]}", inner[1]
    if len(found) != len(expected):
        return f"/{min(len(found), len(expected))}", f"expected {len(expected)} items, found {len(found)}"
    return None


def _plain(value: object) -> str:
    return str(value) if type(value) is int else shown(value)
