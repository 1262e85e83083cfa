"""Which handlers are accepted, and what is said about the others."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bpc_worker import registry
from bpc_worker.handler_api import Context, HandlerSpec, Payload


async def handle(_: Payload, __: Context) -> None: ...


GOOD = HandlerSpec(job_type="GOOD_ONE", payload=Payload, handle=handle)
MISNAMED = HandlerSpec(job_type="OTHER_NAME", payload=Payload, handle=handle)
NOT_A_SPEC = 42


def point(name: str, attribute: str, module: str = __name__) -> EntryPoint:
    return EntryPoint(name=name, value=f"{module}:{attribute}", group=registry.GROUP)


def test_our_own_handlers_load() -> None:
    assert "RUN_COMMAND" in registry.load()


def test_a_good_handler_is_found_by_its_type() -> None:
    assert registry.load([point("GOOD_ONE", "GOOD")])["GOOD_ONE"] is GOOD


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(registry.RegistryError) as caught:
        registry.load(
            [
                point("GOOD_ONE", "GOOD"),
                point("GOOD_ONE", "GOOD"),
                point("MISNAMED", "MISNAMED"),
                point("NOT_A_SPEC", "NOT_A_SPEC"),
                point("NO_MODULE", "X", "no_such_module"),
            ]
        )

    text = str(caught.value)
    assert "two handlers for one type" in text
    assert "differs from job type OTHER_NAME" in text
    assert "is a int, not a HandlerSpec" in text
    assert "does not load: ModuleNotFoundError" in text


@pytest.mark.parametrize(
    ("files", "is_told"),
    [
        ({"RECORD": "other.py,,\nhandlers/mail.py,sha256=x,1\n"}, True),
        ({"RECORD": "handlers/__init__.py,,\n"}, True),
        ({"RECORD": "handlers.py,sha256=x,1\n"}, True),
        ({"top_level.txt": "other\nhandlers\n", "RECORD": "other.py,,\n"}, True),
        ({"RECORD": "other/handlers/mail.py,,\nmy_handlers/mail.py,,\nhandlers_of_mine.py,,\n"}, False),
        ({"top_level.txt": "my_handlers\n"}, False),
        ({}, False),
    ],
)
def test_another_distribution_with_our_package_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], *, is_told: bool
) -> None:
    folder = tmp_path / "foreign-1.0.dist-info"
    folder.mkdir()
    for name, text in {"METADATA": "Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n", **files}.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    if is_told:
        with pytest.raises(registry.RegistryError, match="the distribution foreign also ships a top-level"):
            registry.load()
    else:
        assert "RUN_COMMAND" in registry.load()


def test_one_that_was_installed_from_an_egg_is_told_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "foreign-1.0.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n")
    (folder / "SOURCES.txt").write_text("setup.py\nhandlers/mail.py\n")
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers" / "mail.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(registry.RegistryError, match="the distribution foreign also ships"):
        registry.load()
