"""What whoever asks would rather have: media types and languages by their weights, and entity tags."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

_MOST_PARTS = 40
_USUAL = 300  # letters


def _weighted(header: str) -> Iterator[tuple[str, float]]:
    for part in header.split(",")[:_MOST_PARTS]:
        name, *params = [piece.strip() for piece in part.split(";")]
        weight = 1.0
        for param in params:
            key, _, value = param.partition("=")
            if key.strip().lower() == "q":
                weight = _weight(value.strip())
        if name:
            yield name.lower(), weight


def _weight(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if 0 <= found <= 1 else 0.0


def best_media_type(accept: str | None, offered: tuple[str, ...]) -> str | None:
    """Of those offered, the one that is liked best, of equals the first; None where none will do."""
    if accept is not None and len(accept) <= _USUAL:
        return _usual_best(accept, offered)
    return _best(accept, offered)


def _best(accept: str | None, offered: tuple[str, ...]) -> str | None:
    if accept is None or not accept.strip():
        return offered[0]
    ranges = dict(_weighted(accept))
    weights = [_weight_of(each, ranges) for each in offered]
    best = max(weights)
    return offered[weights.index(best)] if best > 0 else None


def _weight_of(media_type: str, ranges: dict[str, float]) -> float:
    """By the range that names it most closely."""
    kind = media_type.partition("/")[0]
    for each in (media_type, f"{kind}/*", "*/*"):
        if each in ranges:
            return ranges[each]
    return 0.0


def languages(accept: str | None) -> tuple[str, ...]:
    """What is understood, the dearest first: `de-AT` also as `de`."""
    if accept is None:
        return ()
    return _usual_languages(accept) if len(accept) <= _USUAL else _languages(accept)


def _languages(accept: str) -> tuple[str, ...]:
    found = sorted(((tag, weight) for tag, weight in _weighted(accept) if weight > 0), key=lambda it: -it[1])
    tags = [name for tag, _ in found for name in (tag, tag.partition("-")[0])]
    return tuple(dict.fromkeys(tag for tag in tags if tag != "*"))


# Browsers of one kind say the same thing, again and again.
_usual_best = lru_cache(1000)(_best)
_usual_languages = lru_cache(1000)(_languages)


def entity_tag(body: bytes) -> str:
    """Strong: of these very bytes."""
    return f'"{urlsafe_b64encode(sha256(body).digest()[:18]).decode()}"'


def is_known(if_none_match: str | None, tag: str) -> bool:
    """Whether whoever asks has it already. A proxy that compresses makes a tag weak."""
    if if_none_match is None:
        return False
    given = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return tag in given or given == ["*"]
