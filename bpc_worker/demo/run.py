"""The main job, watched: a battery's documents become a signed passport, on a database of the demo's own."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from rich.console import Console

from bpc_worker import wiring
from bpc_worker.config.settings import Settings
from bpc_worker.demo.companies import BATTERIES, examples, set_up
from bpc_worker.demo.proving import connected, environment, prove
from bpc_worker.demo.screen import Screen, Step
from bpc_worker.demo.showing import show_page
from bpc_worker.demo.stage import DATABASE, TENANT, Stage
from bpc_worker.domain.states import BuildStatus, RulesStatus
from bpc_worker.files.rules import read_rules
from bpc_worker.jobs.errors import Permanent
from bpc_worker.jobs.model import JobId
from bpc_worker.pipeline import tenants as queue
from bpc_worker.pipeline.builds.folder import read_folder
from bpc_worker.pipeline.builds.start import BuildState, build_state, start_build
from bpc_worker.pipeline.jobs import wait_for_job
from bpc_worker.pipeline.keys import add_key
from bpc_worker.pipeline.rules import add_rules, publish_rules, run_rule_tests
from bpc_worker.pipeline.session import PipelineSession, open_pipeline
from bpc_worker.postgres.embedded.database import Embedded
from bpc_worker.postgres.migrate import has_drifted
from bpc_worker.registry import Registry
from bpc_worker.waiting.polling import poll

RULES = "eu_battery"

_LONGEST_SECONDS = 120.0
_LOOK_SECONDS = 0.05
_INTO_THE_TRANSACTION_SECONDS = 0.5
_LEASE = {
    "BPC_JOBS_LEASE_SECONDS": "6",
    "BPC_JOBS_LEASE_RENEW_SECONDS": "3",
    "BPC_REAPER_INTERVAL_SECONDS": "2",
}
_WORKER_LOGIN = "bpc_demo_worker"


def begin_anew(embedded: Embedded) -> bool:
    """Whether the demo's own database was made by another checkout's migrations; then it is empty now."""
    earlier = has_drifted(embedded.url)
    if earlier:
        embedded.make_anew(DATABASE)
    return earlier


def play(
    settings: Settings,
    registry: Registry,
    url: str,
    out: Path,
    *,
    chaos: bool = False,
    batteries: Sequence[str] = BATTERIES[:1],
) -> int:
    """0 when a passport of each was made, brought into force, verified and replayed."""
    stage = Stage(settings=settings, registry=registry, url=url, out=out, console=Console(soft_wrap=True))
    try:
        code, versions = asyncio.run(_play(stage, batteries, chaos=chaos))
    except Permanent as error:
        stage.console.print(f"[red]the demo cannot go on:[/] {error.message}", highlight=False)
        return 1
    if code == 0:
        show_page(stage, versions)
    return code


async def _play(stage: Stage, batteries: Sequence[str], *, chaos: bool) -> tuple[int, list[UUID | None]]:
    await queue.add_tenant(stage.settings, stage.url, TENANT)
    states: dict[str, BuildState] = {}
    async with open_pipeline(stage.settings, stage.registry, stage.url, TENANT) as pipeline:
        with _workers(stage, 2 if chaos else 1) as workers:
            await _publish_rules(stage, pipeline)
            for battery in batteries:
                states[battery] = await _build(stage, pipeline, battery, workers if chaos else ())
    several = len(states) > 1
    code = max([_proved(stage, state, f"{name}-" if several else "") for name, state in states.items()])
    return code, [state.passport_version_id for state in states.values()]


def _proved(stage: Stage, state: BuildState, named: str) -> int:
    if state.state != BuildStatus.DONE or state.passport_version_id is None:
        return _stopped(stage, state)
    return prove(stage, state.passport_version_id, named)


async def _publish_rules(stage: Stage, pipeline: PipelineSession) -> None:
    """A key that signs, and rules whose own tests pass."""
    signer = wiring.keyring(stage.settings).signer
    await add_key(pipeline, signer.key_id, signer.public_key)
    rules = await add_rules(pipeline, RULES, read_rules(RULES))
    if rules.status == RulesStatus.DRAFT:
        stage.console.print(f"[bold]Rules[/]  {RULES}: a worker runs the module's own tests …")
        result = await _ended(pipeline, await run_rule_tests(pipeline, RULES))
        stage.console.print(f"[bold]Rules[/]  all pass: {result}")
    await publish_rules(pipeline, RULES)
    stage.console.print(f"[bold]Rules[/]  {RULES} version {rules.version} is published", highlight=False)


async def _ended(pipeline: PipelineSession, job_id: JobId) -> str:
    job = await wait_for_job(pipeline, job_id, seconds=_LONGEST_SECONDS)
    if job.succeeded:
        return json.dumps(job.result)
    if job.ended:
        raise Permanent(job.status, job.status if job.last_error is None else job.last_error.message)
    raise Permanent("TIMEOUT", f"no worker ran the tests within {_LONGEST_SECONDS:g} s")


async def _build(
    stage: Stage, pipeline: PipelineSession, battery: str, victims: Sequence["Worker"]
) -> BuildState:
    with as_file(examples() / battery) as folder:
        read = read_folder(folder, document_bytes=stage.settings.limits.document_bytes)
    await set_up(pipeline, battery, read.recipe)
    names = ", ".join(document.entry.file for document in read.documents)
    stage.console.print(f"[bold]Build[/]  {read.recipe.product.name}: {names}", highlight=False)
    with connected(stage.url) as connection, ExitStack() as cleanup:
        screen = cleanup.enter_context(Screen(stage.console))
        trap = Trap(stage.url, victims, screen) if victims else None
        build = await start_build(pipeline, read, again=True)

        async def look() -> BuildState:
            state = await build_state(pipeline, build.build_id)
            steps = _steps(connection, build.build_id)
            screen.show(steps)
            if trap is not None and not state.ended:
                trap.look(steps)
            return state

        return await poll(
            look, until=lambda state: state.ended, seconds=_LONGEST_SECONDS, every=_LOOK_SECONDS
        )


def _steps(connection: psycopg.Connection[dict[str, object]], build_id: UUID) -> list[Step]:
    rows = connection.execute(
        "SELECT job_id, type, coalesce(payload ->> 'external_ref', d.external_ref, '') AS about, j.status,"
        " attempts, lease_owner, extract(epoch FROM finished_at - started_at)::float AS seconds"
        " FROM jobs AS j"
        " LEFT JOIN document_versions AS v"
        " ON v.document_version_id = (j.payload ->> 'document_version_id')::uuid"
        " LEFT JOIN documents AS d USING (document_id)"
        " WHERE correlation_id = %s ORDER BY j.created_at, job_id",
        [str(build_id)],
    ).fetchall()
    return [Step(**row) for row in rows]  # type: ignore[arg-type]


class Trap:
    """Kills the worker that compiles, in the middle: the key that its transaction needs is held meanwhile."""

    def __init__(self, url: str, victims: Sequence["Worker"], screen: Screen) -> None:
        self._victims = {victim.name: victim for victim in victims}
        self._screen = screen
        self._holder = psycopg.connect(url, row_factory=dict_row)
        self._holder.execute("SELECT FROM signing_keys FOR UPDATE")

    def look(self, steps: Sequence[Step]) -> None:
        caught = [step for step in steps if step.type == "COMPILE_PASSPORT" and step.status == "RUNNING"]
        if not caught or self._holder.closed:
            return
        time.sleep(_INTO_THE_TRANSACTION_SECONDS)
        victim = self._victims[str(caught[0].lease_owner)]
        victim.process.kill()
        victim.process.wait()
        self._holder.close()
        self._screen.say(
            f"kill -9 {victim.process.pid}: {victim.name} dies in the middle of COMPILE_PASSPORT;"
        )
        self._screen.say("its lease ends within 6 s, then the other worker takes the job over")


@dataclass(frozen=True, slots=True)
class Worker:
    name: str
    process: subprocess.Popen[bytes]


@contextmanager
def _workers(stage: Stage, count: int) -> Iterator[list[Worker]]:
    """Real workers, with a login that may do no more than a worker needs; stopped at the end."""
    names = [f"worker-{number}" for number in range(1, count + 1)]
    surroundings = environment(_as_worker(stage.url)) | (_LEASE if count > 1 else {})
    workers = [
        Worker(
            name,
            subprocess.Popen(
                [sys.executable, "-m", "bpc_worker", "run"], env=surroundings | {"BPC_WORKER_ID": name}
            ),
        )
        for name in names
    ]
    stage.console.print(f"[bold]Worker[/] {', '.join(names)} started (bpc-worker run)", highlight=False)
    try:
        yield workers
    finally:
        for worker in workers:
            worker.process.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.process.wait(timeout=40)


def _as_worker(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE bpc_demo_worker LOGIN IN ROLE bpc_worker;"
            " EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{_WORKER_LOGIN}@{parts.netloc.rpartition('@')[2]}"))


def _stopped(stage: Stage, state: BuildState) -> int:
    stage.console.print(f"[red]the build did not end as it should[/]: it is {state.state}")
    for error in state.errors or []:
        stage.console.print(f"  {error}", highlight=False, markup=False)
    return 1
