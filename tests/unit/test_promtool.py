"""Promtool comes as RabbitMQ does: found, or installed by root, or missed aloud."""

import os
import shutil

import pytest

from tests.support.promtool import objections


@pytest.fixture(autouse=True)
def nobody_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def test_where_it_cannot_be_had_the_test_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="prometheus is not installed, and only root"):
        objections("")


def test_on_ci_that_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="prometheus is not installed, and only root"):
        objections("")
