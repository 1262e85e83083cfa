"""Send a document in one line, and look at what comes back."""

import json
from collections.abc import Mapping
from typing import Any

from bpc_worker.documents.model import Accepted, Declared, FoundFact, Limits, Rejected
from bpc_worker.documents.parse import parse_document

JSON = "application/json"
CSV = "text/csv"


def send(
    content: object,
    kind: str,
    *,
    mime: str = "",
    number_format: str | None = None,
    mapping: Mapping[str, object] | None = None,
    limits: Limits | None = None,
) -> Accepted | Rejected:
    """Bytes as they are, a text in UTF-8, anything else as JSON."""
    is_json = not isinstance(content, bytes | str)
    data = (
        content if isinstance(content, bytes) else (json.dumps(content) if is_json else str(content)).encode()
    )
    declared = Declared(
        kind=kind,
        mime_type=mime or (JSON if is_json else CSV),
        number_format=number_format,
        mapping=mapping,
    )
    return parse_document(data, declared, limits)


def facts(content: object, kind: str, **options: Any) -> tuple[FoundFact, ...]:
    answer = send(content, kind, **options)
    assert isinstance(answer, Accepted), answer
    return answer.facts


def one_fact(content: object, kind: str, **options: Any) -> FoundFact:
    [fact] = facts(content, kind, **options)
    return fact


def rejected(content: object, kind: str, **options: Any) -> Rejected:
    answer = send(content, kind, **options)
    assert isinstance(answer, Rejected), answer
    return answer


def places(content: object, kind: str, **options: Any) -> list[str]:
    """Where the problems are."""
    return [problem.where for problem in rejected(content, kind, **options).problems]


def problem(content: object, kind: str, **options: Any) -> tuple[str, str]:
    """Where the one problem is, and its words."""
    [only] = rejected(content, kind, **options).problems
    return only.where, only.message


def changed(members: Mapping[str, object], **changes: object) -> dict[str, object]:
    """With other members; None takes one away."""
    both = {**members, **changes}
    return {name: value for name, value in both.items() if value is not None}
