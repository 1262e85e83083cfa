"""A tenant with published rules and a registered key, and builds of the shipped example battery."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from bpc_worker import registry, wiring
from bpc_worker.config import load as config
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.domain.events import Happened
from bpc_worker.files.rules import read_rules
from bpc_worker.pipeline.builds.folder import read_folder
from bpc_worker.pipeline.builds.start import BuildState, build_state, start_build
from bpc_worker.pipeline.keys import add_key
from bpc_worker.pipeline.session import PipelineSession, open_pipeline
from tests.support.database import Database
from tests.support.worker import until

EXAMPLE = Path(__file__).parent / "battery"  # small, for battery_core

T = TypeVar("T")


@dataclass(frozen=True)
class Pipeline:
    """Synchronous hands on the pipeline's API, as the application's role."""

    db: Database
    tenant: str = "acme"

    def call(self, work: Callable[[PipelineSession], Coroutine[object, object, T]], **env: str) -> T:
        """Run something of bpc_worker.pipeline for this tenant."""

        async def run() -> T:
            settings = config.load(env=env)
            url = self.db.url_as("bpc_app")
            async with open_pipeline(settings, registry.load(), url, self.tenant) as pipeline:
                return await work(pipeline)

        with ThreadPoolExecutor(1) as apart:  # what drives a browser keeps a loop in this thread
            return apart.submit(lambda: asyncio.run(run())).result()

    def build(self, folder: Path = EXAMPLE, *, again: bool = False) -> UUID:
        """Start a build; its id."""
        read = read_folder(folder, document_bytes=20 * 1024 * 1024)
        return self.call(lambda pipeline: start_build(pipeline, read, again=again)).build_id

    def state(self, build_id: UUID) -> BuildState:
        return self.call(lambda pipeline: build_state(pipeline, build_id))

    def ended(self, build_id: UUID, *, within: float = 60) -> BuildState:
        """The build, once it is done or stopped."""

        def ended() -> BuildState | None:
            state = self.state(build_id)
            return state if state.state in {"DONE", "STOPPED"} else None

        found = until(ended, within=within, what=f"the end of build {build_id}", every=0.1)
        assert found is not None
        return found

    def version(self, build_id: UUID) -> dict[str, object]:
        """The row of the build's passport version."""
        return self.db.one(
            "SELECT v.* FROM passport_versions v JOIN passport_builds b USING (passport_version_id)"
            " WHERE b.build_id = %s",
            [build_id],
        )


def keyed(db: Database, tenant: str = "acme") -> Pipeline:
    """A tenant with the development key registered, and nothing else."""
    db.tenant(tenant)
    made = Pipeline(db, tenant)
    signer = wiring.keyring(config.load(env={})).signer
    made.call(lambda pipeline: add_key(pipeline, signer.key_id, signer.public_key))
    return made


def pipeline(db: Database, tenant: str = "acme", *, rules: str | None = None) -> Pipeline:
    """With rules published, too, without the minutes of their tests."""
    made = keyed(db, tenant)
    publish(made, "battery_core", read_rules("battery_core") if rules is None else rules)
    return made


def publish(path: Pipeline, name: str, source: str) -> UUID:
    """Rules as they are once they were tested and published: the row, and the event that says so."""
    row = path.db.one(
        "WITH package AS (INSERT INTO rule_packages (tenant_id, name) VALUES (%s, %s)"
        " RETURNING tenant_id, rule_package_id)"
        " INSERT INTO rule_package_versions"
        " (tenant_id, rule_package_id, version, dsl, dsl_sha256, tests_sha256, status)"
        " SELECT tenant_id, rule_package_id, 1, %s, %s, %s, 'PUBLISHED' FROM package"
        " RETURNING rule_package_version_id",
        [
            path.db.tenant(path.tenant),
            name,
            source,
            sha256(source.encode()),
            sha256(text_of_tests(source).encode()),
        ],
    )
    version = UUID(str(row["rule_package_version_id"]))
    happened = Happened(
        event_type="RULES_PUBLISHED",
        aggregate_type="rules",
        aggregate_id=version,
        payload={"dsl_sha256": sha256(source.encode()).hex()},
    )

    async def tell(pipeline: PipelineSession) -> None:
        async with pipeline.transaction() as tx:
            await pipeline.record(tx, happened)

    path.call(tell)
    return version


def battery(folder: Path, serial: str) -> Path:
    """The example as another battery: its own serial number and its own battery id, so its own facts."""
    shutil.copytree(EXAMPLE, folder)
    _replace(folder / "passport.yaml", "HLS-EV78-2028-000417", serial)
    _replace(folder / "battery.json", "HLS-EV78-2028-000417", serial)
    return folder


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
