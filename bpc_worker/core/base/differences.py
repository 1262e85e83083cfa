"""Where two JSON values differ first."""

from bpc_worker.core.base.forms import shown


def first_difference(found: object, expected: object) -> tuple[str, str] | None:
    """A JSON pointer, and what stands there against what should; None where they are the same."""
    match found, expected:
        case dict(), dict():
            for key in sorted(found.keys() | expected.keys()):
                if key not in expected:
                    return f"/{key}", "it should not be there"
                if key not in found:
                    return f"/{key}", "it is missing"
                if (inner := first_difference(found[key], expected[key])) is not None:
                    return f"/{key}{inner[0]}", inner[1]
            return None
        case list(), list():
            for at, (one, other) in enumerate(zip(found, expected, strict=False)):
                if (inner := first_difference(one, other)) is not None:
                    return f"/{at}{inner[0]}", inner[1]
            if len(found) != len(expected):
                return f"/{min(len(found), len(expected))}", f"expected {len(expected)}, found {len(found)}"
            return None
        case _:
            if type(found) is type(expected) and found == expected:  # true is not 1
                return None
            return "", f"expected {_plain(expected)}, found {_plain(found)}"


def _plain(value: object) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else shown(value)
