"""Array literals; that PostgreSQL reads them as they were meant is tested with a server."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from bpc_worker.postgres.arrays import array


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], "{}"),
        ([None, 1, 2.5], "{NULL,1,2.5}"),
        (["a", "NULL", "", 'say "hi"', r"c:\d", "a,b}"], r'{"a","NULL","","say \"hi\"","c:\\d","a,b}"}'),
        ([b"\x00\xff"], r'{"\\x00ff"}'),
        ([UUID(int=1)], "{00000000000000000000000000000001}"),
        ([datetime(2026, 11, 16, 12, tzinfo=UTC)], '{"2026-11-16 12:00:00+00:00"}'),
    ],
)
def test_the_text_of_an_array(items: list[object], text: str) -> None:
    assert array(items) == text
