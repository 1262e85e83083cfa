"""For a worker under test: children of the task LYING_TASK answer with a compile of constants.

Payload, proof and receipt agree with one another, and every step of the proof holds; only the rules that the
receipt names were never run.
"""

import os
from typing import Any

_TASK = os.environ.get("LYING_TASK")
CONSTANTS = 'field identity.chemistry: Text for public = "harmless";'


def _lie() -> None:
    import msgspec

    from bpc_worker.engine.context import HandlerContext

    honest = HandlerContext.child

    async def child(self: HandlerContext, task: Any, request: Any) -> Any:
        if task.name == _TASK:
            request = msgspec.structs.replace(request, dsl=CONSTANTS)
        return await honest(self, task, request)

    HandlerContext.child = child  # type: ignore[method-assign]


if _TASK:
    _lie()
