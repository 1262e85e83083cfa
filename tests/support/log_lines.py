"""What a worker may write to standard error: JSON lines with allowed keys, and a few words of the command."""

import json
from collections.abc import Sequence

from bpc_worker.observability.log import ALLOWED

# Said to a human by the command itself, before there is a log or when there will never be one.
WORDS_OF_THE_COMMAND = (
    "bpc-worker: ",  # wrong usage or configuration, a refused schema, hints about old names
    "applying ",  # run --migrate: one per migration
)


def strange(raw: Sequence[str], *, cut_short: bool) -> list[str]:
    """Lines that should not be there. A process that was killed may leave half a line at the end."""
    whole = raw[:-1] if cut_short and raw and not raw[-1].endswith("\n") else raw
    return [line for line in whole if not line.startswith(WORDS_OF_THE_COMMAND) and not _is_log_line(line)]


def _is_log_line(line: str) -> bool:
    try:
        fields = json.loads(line)
    except ValueError:
        return False
    return isinstance(fields, dict) and {"ts", "level", "msg"} <= fields.keys() <= set(ALLOWED)
