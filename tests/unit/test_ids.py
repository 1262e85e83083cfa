"""Ids of ours: time-ordered, also within one moment."""

from uuid import RFC_4122

from bpc_worker.ids import uuid7


def test_ids_ascend_however_quickly_they_are_made() -> None:
    ids = [uuid7() for _ in range(5_000)]

    assert ids == sorted(set(ids))
    assert {(each.version, each.variant) for each in ids} == {(7, RFC_4122)}


def test_an_id_begins_with_its_time() -> None:
    first, second = uuid7(), uuid7()

    assert 0 <= (second.int >> 80) - (first.int >> 80) < 60_000
