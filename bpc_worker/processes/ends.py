"""How a process ended, in words."""

import signal

_NAMES = {each.value: each.name for each in signal.Signals}  # of all but most real-time signals


def how_ended(code: int) -> str:
    """By what Popen calls its return code."""
    if code >= 0:
        return f"exit code {code}"
    hint = ", out of CPU time" if -code == signal.SIGXCPU else ""
    return f"signal {_NAMES.get(-code, -code)}{hint}"
