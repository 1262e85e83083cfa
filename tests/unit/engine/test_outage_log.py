"""One line when the database goes, one a minute, one when it is back."""

import pytest

from bpc_worker.engine import outage_log
from bpc_worker.engine.outage_log import OutageLog, is_away, warn
from bpc_worker.jobs.errors import Code, JobError, Permanent, Retryable, SchemaMismatch, Unavailable
from tests.support.log_words import LogWords


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> LogWords:
    words = LogWords()
    monkeypatch.setattr(outage_log, "_log", words)
    return words


def test_an_outage_of_two_and_a_half_minutes_is_four_lines(words: LogWords) -> None:
    now = 1000.0
    told = OutageLog(lambda: now)
    told.note(None)
    for _ in range(150):
        told.note("no database")
        now += 1
    told.note(None)
    told.note(None)

    assert words.said == ["warning database_unreachable"] * 3 + ["warning database_back"]


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (Unavailable(Code.DB_UNAVAILABLE, "away"), "debug"),
        (SchemaMismatch("42501", "permission denied"), "warning"),
        (Retryable(Code.DB_UNAVAILABLE, "53100"), "warning"),
        (Permanent(Code.VALIDATION_ERROR, "22P05"), "warning"),
    ],
)
def test_only_those_who_wait_for_the_database_whisper(error: JobError, level: str) -> None:
    words = LogWords()
    warn(words, "claim_failed", error)  # type: ignore[arg-type]  # it takes any word

    assert words.said == [f"{level} claim_failed"]
    assert is_away(error) is (level == "debug")
