"""How a caller wants to be answered: how long it waits, under which key, how urgent it is."""

import re
from typing import Final

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import Priority
from bpc_worker.web.api.described import KEY_HEADER, PREFER_HEADER
from bpc_worker.web.layer.request import Request

_WAIT = re.compile(r'wait\s*=\s*"?([0-9]{1,6})"?')
_KEY = re.compile(r"[!-~]{1,255}")
MOST_SECONDS: Final = 60


def wait_seconds(request: Request) -> int:
    """Of `Prefer: wait=…`; 0 where nothing is said, or something else: a preference may be left aside."""
    for each in request.headers.get(PREFER_HEADER, "").split(","):
        found = _WAIT.fullmatch(each.partition(";")[0].strip())
        if found:
            return min(int(found[1]), MOST_SECONDS)
    return 0


def idempotency_key(request: Request) -> str | None:
    key = request.headers.get(KEY_HEADER)
    if key is not None and not _KEY.fullmatch(key):
        raise Permanent(
            Code.VALIDATION_ERROR, f"{KEY_HEADER}: 1 to 255 visible ASCII characters without blanks"
        )
    return key


def priority(request: Request, wanted: str | int | None) -> Priority | None:
    """By number or name. FORBIDDEN where it is more urgent than the token may ask for."""
    if wanted is None:
        return None
    try:
        found = Priority.named(wanted)
    except ValueError:
        raise Permanent(Code.VALIDATION_ERROR, "priority: 0 to 3, or critical, high, normal, low") from None
    if found < request.identity.most_urgent:
        most = request.identity.most_urgent
        raise Permanent(
            Code.FORBIDDEN,
            f"priority {int(found)} needs the scope priority:{int(found)}; this token has {most}",
        )
    return found
