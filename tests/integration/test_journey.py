"""docs/journey.md names every file that a plain job crosses, in order: compared with a trace of real jobs."""

import re
from typing import Final

from tests.bench.trace_job import Trace, traced
from tests.bench.trees import Tree
from tests.support import markdown

PAGE: Final = markdown.ROOT / "docs" / "journey.md"

_ROW = re.compile(r"^\| \d+ \| \[[^\]]*\]\(\.\./bpc_worker/([^)]+)\)", re.MULTILINE)
_MOST = (20, 80, 4)  # files, hops, and how often the runner is entered
_BEFORE_THE_CLAIM = 6  # of them are at work when the store is asked, which is where a trace begins


def _first_entered(trace: Trace) -> list[str]:
    return list(dict.fromkeys(file for _, file, _ in trace.hops))


def test_the_page_names_the_files_of_a_plain_job_in_their_order() -> None:
    named = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    before = named[:_BEFORE_THE_CLAIM]

    _cold, *warm = traced(Tree("traced", markdown.ROOT), 6)
    shortest = min(warm, key=lambda trace: len(trace.hops))
    plainest = _first_entered(shortest)

    entered = (len(shortest.entered), len(shortest.hops), shortest.entered["engine/runner.py"])
    assert [*map(min, entered, _MOST)] == [*entered], "a plain job goes round about: make trace"
    assert set(named) == set(plainest)
    assert named[_BEFORE_THE_CLAIM:] == [file for file in plainest if file not in before]
