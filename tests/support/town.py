"""A believable installation: four makers with a signed passport each, and a build that stopped.

The batteries are the demo's, built by a real worker and signed with a key of their own, so that pages may
call them checked.
"""

import shutil
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final
from uuid import UUID

from bpc_worker import wiring
from bpc_worker.config import load as config
from bpc_worker.demo.companies import examples, set_up
from bpc_worker.files.rules import read_rules
from bpc_worker.pipeline.builds.folder import read_folder
from bpc_worker.pipeline.hosts import add_host
from bpc_worker.pipeline.keys import add_key
from bpc_worker.pipeline.passports import activate
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support.database import Database
from tests.support.pipeline import Pipeline, publish
from tests.support.worker import worker

MAKERS: Final = MappingProxyType(
    {"ev": "helios", "lmt": "vela", "stationary": "kornberg", "industrial": "bolko"}
)
RULES = "eu_battery"
DOCUMENT_BYTES = 20 * 1024 * 1024
# A key that not everybody knows, but for readers of this line.
SIGNING: Final = MappingProxyType(
    {
        "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": b64encode(b"a town's own key, of 32 bytes...").decode(),
        "BPC_SIGNING_KEY_ID": "town-2027",
        "BPC_DISCLOSURE_KEY": b64encode(b"salts are made from these bytes.").decode(),
    }
)


@dataclass(frozen=True)
class Maker:
    path: Pipeline
    battery: str
    build: UUID
    version: UUID
    identifier: str

    @property
    def host(self) -> str:
        return self.identifier.split("/")[2]


@dataclass(frozen=True)
class Town:
    db: Database
    makers: dict[str, Maker]  # by the name of the example
    stopped: UUID  # a build: its bill of materials has a cell that is no number

    @property
    def ev(self) -> Maker:
        return self.makers["ev"]


@contextmanager
def town(server: Server, *batteries: str) -> Iterator[Town]:
    """With these of the demo's examples, or all four; nobody works in it."""
    with databases.database(server) as db:
        with worker(db.url_as("bpc_worker"), **SIGNING):
            makers = {battery: add_maker(db, battery, SIGNING) for battery in batteries or MAKERS}
            stopped = _stopped(next(iter(makers.values())))
        yield Town(db, makers, stopped)


def add_maker(db: Database, battery: str, signing: Mapping[str, str] = MappingProxyType({})) -> Maker:
    """With its tenant, its host, its rules, and its battery built by a worker who is there, and activated."""
    tenant = MAKERS[battery]
    db.tenant(tenant)
    path = Pipeline(db, tenant)
    signer = wiring.keyring(config.load(env=signing)).signer
    path.call(lambda pipeline: add_key(pipeline, signer.key_id, signer.public_key), **signing)
    path.call(lambda pipeline: add_host(pipeline, f"id.{tenant}.example"))
    publish(path, RULES, read_rules(RULES))
    with as_file(examples() / battery) as folder:
        recipe = read_folder(folder, document_bytes=DOCUMENT_BYTES).recipe
        path.call(lambda pipeline: set_up(pipeline, battery, recipe))
        build = path.build(folder)
    state = path.ended(build)
    version = state.passport_version_id
    assert state.state == "DONE", state.errors
    assert version is not None
    path.call(lambda pipeline: activate(pipeline, str(version)), **signing)
    return Maker(path, battery, build, version, state.unique_identifier)


def _stopped(maker: Maker) -> UUID:
    """The same battery once more, with a mass that somebody typed twice."""
    with as_file(examples() / maker.battery) as original, TemporaryDirectory() as made:
        folder = Path(made) / "battery"
        shutil.copytree(original, folder)
        parts = folder / "bom.csv"
        lines = parts.read_text(encoding="utf-8").splitlines(keepends=True)
        assert "49,250" in lines[1]
        parts.write_text(
            "".join([lines[0], lines[1].replace("49,250", "49,2,50"), *lines[2:]]), encoding="utf-8"
        )
        build = maker.path.build(folder, again=True)
    state = maker.path.ended(build)
    assert state.state == "STOPPED", state
    return build
