"""Which handlers are accepted, and what is said about the others."""

from importlib.metadata import EntryPoint

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
