"""Where the work of commands is done: in the database, for a tenant's pipeline or for an operator."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, TypeVar

from bpc_worker.cli._common.output import EXIT_FAILED, tell
from bpc_worker.cli._common.startup import (
    database_url,
    explained,
    finished,
    installed_handlers,
    settings_from,
)

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.operator.session import Operator
    from bpc_worker.pipeline.session import PipelineSession
    from bpc_worker.postgres.queue.job_states import JobState

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE_LOOKS = 25  # five seconds of nobody taking the job, before a word about it
_TO_LOOK, _TO_ACT = "bpc_operator or bpc_reader", "bpc_operator"


def in_database(
    settings: "Settings", work: Callable[[str], Coroutine[object, object, T]], role: str = "bpc_app"
) -> T:
    """Do something at its address; what goes wrong becomes words and an exit code."""
    with database_url(settings) as url, explained(role):
        return finished(work(url))


def in_pipeline(
    config_path: str | None,
    tenant: str,
    work: "Callable[Concatenate[PipelineSession, P], Awaitable[T]]",
    *args: P.args,
    **options: P.kwargs,
) -> T:
    """Do something for the tenant."""
    from bpc_worker.pipeline.session import open_pipeline

    settings, registry = settings_from(config_path), installed_handlers()

    async def run(url: str) -> T:
        async with open_pipeline(settings, registry, url, tenant) as pipeline:
            return await work(pipeline, *args, **options)

    return in_database(settings, run)


def as_operator(
    config_path: str | None,
    work: "Callable[[Operator], Awaitable[T]]",
    *,
    acts: bool = False,
    role: str | None = None,
) -> T:
    """Do something with the queue; `role`: what the login needs, where that is not usual."""
    from bpc_worker.operator.session import open_operator

    settings = settings_from(config_path)

    async def run(url: str) -> T:
        async with open_operator(settings, url) as operator:
            return await work(operator)

    return in_database(settings, run, role or (_TO_ACT if acts else _TO_LOOK))


async def collected(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def patience() -> "Callable[[JobState], None]":
    """For every look at a job: says once, after a while, that nobody takes it."""
    looks = 0

    def looked(state: "JobState") -> None:
        nonlocal looks
        looks = 0 if state.ended or state.attempts else looks + 1
        if looks == _PATIENCE_LOOKS:
            from bpc_worker.pipeline.jobs import how_it_stands

            tell(*how_it_stands(state), "waiting on; ^C ends the waiting, not the job")

    return looked


def not_done(state: "JobState") -> NoReturn:
    """The job that was waited for has not succeeded."""
    from bpc_worker.pipeline.jobs import how_it_stands

    tell(*how_it_stands(state))
    raise SystemExit(EXIT_FAILED)
