"""How processes ended, in words."""

import pytest

from bpc_worker.processes.ends import how_ended


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (7, "exit code 7"),
        (-9, "signal SIGKILL"),
        (-24, "signal SIGXCPU, out of CPU time"),
        (-40, "signal 40"),  # one without a name
    ],
)
def test_every_end_has_words(code: int, words: str) -> None:
    assert how_ended(code) == words
