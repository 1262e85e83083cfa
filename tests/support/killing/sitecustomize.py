"""For a producer under test: SIGKILL for itself before its nth change of the inbox, from the first rename on.

Python tells an audit hook of every open, rename, mkdir and remove before it happens, so the product needs no
place of its own to die at. INBOX_KILL_ROOT and INBOX_KILL_AT come from the test.
"""

import os
import signal
import sys

_ROOT = os.environ.get("INBOX_KILL_ROOT", "")
_AT = int(os.environ.get("INBOX_KILL_AT", "0"))
_CHANGES = frozenset({"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove"})

_begun = False
_count = 0


def _hook(event: str, args: tuple[object, ...]) -> None:
    global _begun, _count  # noqa: PLW0603 - a hook has no other memory
    if event not in _CHANGES or not any(isinstance(each, str) and each.startswith(_ROOT) for each in args):
        return
    _begun = _begun or event == "os.rename"
    _count += _begun
    if _begun and _count == _AT:
        os.kill(os.getpid(), signal.SIGKILL)


if _ROOT and _AT:
    sys.addaudithook(_hook)
