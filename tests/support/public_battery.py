"""A battery with everything that its public page can show: a GTIN, a host, documents, a key of its own."""

import shutil
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file
from pathlib import Path
from uuid import UUID

from bpc_worker.demo.companies import examples, set_up
from bpc_worker.files.rules import read_rules
from bpc_worker.keys.signers import LocalSigner
from bpc_worker.pipeline.builds.folder import read_folder
from bpc_worker.pipeline.hosts import add_host
from bpc_worker.pipeline.keys import add_key
from bpc_worker.pipeline.passports import activate
from bpc_worker.pipeline.products import ProductData, change_product
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.embedded.server import Server
from tests.support import database as databases
from tests.support import status_lists
from tests.support.database import Database
from tests.support.pipeline import Pipeline, publish
from tests.support.signed import Signed
from tests.support.worker import until, worker

HOST = "id.volt.eu"
SIGNER = LocalSigner("volt-1", b"k" * 32)
KEYS = {
    "BPC_SIGNING_KEY_ID": SIGNER.key_id,
    "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": b64encode(b"k" * 32).decode("ascii"),
    **status_lists.KEY,
}
GTIN = "09520123456788"
SERIAL = "7QK2M9X4TB"
IDENTIFIER = f"https://{HOST}/01/{GTIN}/21/{SERIAL}"
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
TEXT = "Nicht öffnen. Vor Nässe schützen.\n".encode()
SECRET = b"for the authorities\n"
ATTACHED = {
    "doc.pdf": (PDF, "kind: declaration_of_conformity, audience: public, language: en"),
    "anleitung.txt": (TEXT, "kind: waste, audience: public, language: de, title: Anleitung"),
    "secret.txt": (SECRET, "kind: test_report, audience: authorities"),
}


@contextmanager
def public_battery(server: Server, **env: object) -> Iterator[Signed]:
    """In force; it superseded a version before it."""
    with databases.database(server) as db, tempfile.TemporaryDirectory() as folder:
        path = Pipeline(db)
        db.tenant(path.tenant)
        path.call(lambda pipeline: add_key(pipeline, SIGNER.key_id, SIGNER.public_key))
        status_lists.register_key(db)
        publish(path, "eu_battery", read_rules("eu_battery"))
        with worker(db.url_as("bpc_worker"), **(KEYS | env)):
            _build(path, _folder(Path(folder)), again=False)
            second = _build(path, Path(folder) / "ev", again=True)
            until(
                lambda: db.run("SELECT FROM status_lists WHERE token_as_of > %s", [_activated(db, second)]),
                within=60,
                what="the status list",
            )
        yield Signed(path, second)


def _activated(db: Database, version: UUID) -> object:
    return db.one("SELECT activated_at FROM public_passports WHERE passport_version_id = %s", [version])[
        "activated_at"
    ]


def _folder(within: Path) -> Path:
    """The example of a car's battery under a serial of ours, with attachments."""
    folder = within / "ev"
    with as_file(examples() / "ev") as example:
        shutil.copytree(example, folder)
    recipe = (folder / "passport.yaml").read_text()
    for name, (content, said) in ATTACHED.items():
        (folder / name).write_bytes(content)
        recipe += f"  - {{file: {name}, kind: ATTACHMENT, attachment: {{{said}}}}}\n"
    (folder / "passport.yaml").write_text(recipe.replace("HLS-EV78-2027-000417", SERIAL))
    measured = folder / "measurements.csv"
    measured.write_text(measured.read_text().replace("HLS-EV78-2027-000417", SERIAL))
    return folder


def _build(path: Pipeline, folder: Path, *, again: bool) -> UUID:
    """Built and in force."""
    read = read_folder(folder, document_bytes=20 * 1024 * 1024)

    async def prepare(pipeline: PipelineSession) -> None:
        await add_host(pipeline, HOST)
        await set_up(pipeline, "ev", read.recipe)
        await change_product(pipeline, ProductData(identifier=read.recipe.product.identifier, gtin=GTIN))

    path.call(prepare)
    state = path.ended(path.build(folder, again=again), within=120)
    assert state.state == "DONE", state.errors
    version = state.passport_version_id
    assert version is not None
    path.call(lambda pipeline: activate(pipeline, str(version)))
    return version
