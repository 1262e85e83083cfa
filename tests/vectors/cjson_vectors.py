"""Golden vectors of BPC-CJSON-1, by an encoder that is written out here, character by character."""

import hashlib
from typing import Any

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def text(value: str) -> str:
    """Only quotes, backslashes and control characters are escaped: by a letter, or in lower-case hex."""
    return "".join(ESCAPES.get(each) or (each if each >= " " else f"\\u{ord(each):04x}") for each in value)


def canonical(value: Any) -> bytes:
    if value is None or value is True or value is False:
        return {None: b"null", True: b"true", False: b"false"}[value]
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, str):
        return f'"{text(value)}"'.encode()
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    members = sorted((key.encode(), canonical(key) + b":" + canonical(each)) for key, each in value.items())
    return b"{" + b",".join(member for _, member in members) + b"}"


VALUES: dict[str, Any] = {
    "the example of docs/formats.md": {"b": 2, "a": 1},
    "nothing, true and false": [None, True, False],
    "the largest and the smallest integer": [2**53 - 1, -(2**53) + 1, 0, -1],
    "empty things": {"": "", "array": [], "object": {}},
    "every control character but NUL": "".join(map(chr, range(1, 32))) + "\x7f\x80\x9f",
    "quotes, backslashes and slashes": '"\\/',
    "text is not normalised": ["\u00c5", "A\u030a", "\u212b"],
    "characters above U+FFFF in a text": "\U0001f50b battery \U0010ffff",
    "keys in the order of UTF-8 bytes": dict.fromkeys(
        ["z", "Z", "a", "aa", "a b", "\u00e4", "\u20ac", "\uffff"], 1
    ),
    "line separators stand as they are": "\u2028\u2029\ufeff",
    "objects inside arrays inside objects": {"b": [{"d": [1, {"f": []}], "c": None}], "a": {"b": {"c": 1}}},
    "a number as a text": {"dec": "1.50", "large": "9007199254740993"},
}

REFUSED = {
    "a blank": '{"a": 1}',
    "a line end after it": '{"a":1}\n',
    "keys out of order": '{"b":1,"a":2}',
    "a key twice": '{"a":1,"a":1}',
    "a fraction": "[1.5]",
    "a whole fraction": "[1.0]",
    "an exponent": "[1e3]",
    "minus zero": "[-0]",
    "a zero before a number": "[01]",
    "a plus": "[+1]",
    "too large an integer": "[9007199254740992]",
    "too small an integer": "[-9007199254740992]",
    "not a number": "[NaN]",
    "infinity": "[Infinity]",
    "NUL": '["\\u0000"]',
    "a lone surrogate": '["\\ud800"]',
    "a pair of escaped surrogates": '["\\ud83d\\udd0b"]',
    "a key above U+FFFF": '{"\U0001f50b":1}',
    "an escape that is not needed": '["\\u0041"]',
    "an escaped slash": '["\\/"]',
    "upper case in an escape": '["\\u001F"]',
    "a long escape where there is a short one": '["\\u000a"]',
    "a bare control character": '["\x1f"]',
    "a comma at the end": "[1,]",
    "single quotes": "['a']",
    "a comment": "[1]/**/",
    "two values": "1 2",
    "a byte order mark": "\ufeff[]",
    "nothing": "",
    "an array that does not end": "[[[[",
}


def vectors() -> dict[str, dict[str, Any]]:
    values = []
    for name, value in VALUES.items():
        data = canonical(value)
        expected = {"canonical": data.decode(), "sha256": hashlib.sha256(data).hexdigest()}
        values.append({"name": name, "input": value, "expected": expected})
    return {
        "values": {"description": "values and their canonical bytes", "cases": values},
        "refused": {
            "description": "texts that are not canonical, or not JSON",
            "cases": [{"name": name, "text": each} for name, each in REFUSED.items()],
        },
    }
