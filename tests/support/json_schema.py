"""As much of JSON Schema as our own uses: does a value fit?"""

import re
from collections.abc import Mapping

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip


def complaints(schema: Mapping[str, object], value: object, at: str = "") -> list[str]:
    """Everything that does not fit, with its place."""
    found: list[str] = []
    kind = schema.get("type")
    if isinstance(kind, str):
        fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
        if not fits:
            return [f"{at}: is no {kind}"]
    options, choices = schema.get("enum"), schema.get("anyOf")
    if isinstance(options, list) and value not in options:
        found.append(f"{at}: is none of {options}")
    if isinstance(choices, list) and all(complaints(each, value, at) for each in choices):
        found.append(f"{at}: fits none of its forms")
    if isinstance(value, int | float) and not isinstance(value, bool):
        found += _number(schema, value, at)
    if isinstance(value, str) and not re.search(str(schema.get("pattern", "")), value):
        found.append(f"{at}: does not match")
    if isinstance(value, list) and len(value) < int(str(schema.get("minItems", 0))):
        found.append(f"{at}: is too short")
    if isinstance(value, dict):
        found += _object(schema, value, at)
    return found


def _number(schema: Mapping[str, object], value: float, at: str) -> list[str]:
    low, above, high = (schema.get(word) for word in ("minimum", "exclusiveMinimum", "maximum"))
    fits = (
        (not isinstance(low, int | float) or value >= low)
        and (not isinstance(above, int | float) or value > above)
        and (not isinstance(high, int | float) or value <= high)
    )
    return [] if fits else [f"{at}: is out of range"]


def _object(schema: Mapping[str, object], value: Mapping[str, object], at: str) -> list[str]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    required = schema.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    found = [f"{at}: needs {name}" for name in required if name not in value]
    for name, each in value.items():
        place = f"{at}.{name}" if at else str(name)
        if name in properties:
            found += complaints(properties[name], each, place)
        elif others is False:
            found.append(f"{place}: is unknown")
        elif isinstance(others, dict):
            found += complaints(others, each, place)
    return found
