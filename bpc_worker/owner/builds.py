"""Passport builds: a folder of documents and a passport.yaml become a signed passport."""

import asyncio
import stat
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec
import yaml

from bpc_worker import builds
from bpc_worker.core.hashing import sha256
from bpc_worker.handler_api import Tx
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.jobs.model import NewJob
from bpc_worker.owner.products import ensure_passport, ensure_product
from bpc_worker.owner.rules import RulesVersion, published_rules
from bpc_worker.owner.session import Owner
from bpc_worker.rows import maybe, one

RECIPE = "passport.yaml"

_LOOK_SECONDS = 0.2
_ENDED = frozenset({"DONE", "STOPPED"})
_MAX_RECIPE_BYTES = 65_536


class ProductEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    identifier: str


class DocumentEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: str
    kind: Literal["BOM", "PCF", "DUE_DILIGENCE", "OTHER"]
    mime_type: str
    number_format: Literal["1.234,56", "1,234.56"] | None = None


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """passport.yaml: which battery, which rules, and which file is what."""

    product: ProductEntry
    passport: str
    rules: str
    law_date: date
    documents: list[DocumentEntry]


@dataclass(frozen=True, slots=True)
class Document:
    entry: DocumentEntry
    content: bytes
    path: Path

    @property
    def sha256(self) -> bytes:
        return sha256(self.content)


@dataclass(frozen=True, slots=True)
class Folder:
    recipe: Recipe
    documents: tuple[Document, ...]


class BuildState(msgspec.Struct, frozen=True):
    build_id: UUID
    passport_id: UUID
    state: str
    snapshot_id: UUID | None
    passport_version_id: UUID | None
    errors: list[dict[str, object]] | None
    documents: list[dict[str, object]]


def read_folder(folder: Path, *, document_bytes: int) -> Folder:
    """Everything the folder says, with all that is wrong with it at once."""
    recipe = _recipe(folder / RECIPE)
    problems: list[str] = []
    documents: list[Document] = []
    names = [entry.file for entry in recipe.documents]
    problems += [
        f"{name} is listed twice" for name in sorted({name for name in names if names.count(name) > 1})
    ]
    for entry in recipe.documents:
        try:
            documents.append(
                Document(entry, _content(folder, entry.file, document_bytes), folder / entry.file)
            )
        except ValueError as error:
            problems.append(f"{entry.file}: {error}")
    if not documents and not problems:
        problems.append("no documents are listed")
    if problems:
        raise Permanent(Code.VALIDATION_ERROR, f"{folder}: " + "; ".join(problems))
    return Folder(recipe, tuple(documents))


def _recipe(path: Path) -> Recipe:
    try:
        text = path.read_bytes()[: _MAX_RECIPE_BYTES + 1]
        if len(text) > _MAX_RECIPE_BYTES:
            raise Permanent(Code.PAYLOAD_TOO_LARGE, f"{path}: more than {_MAX_RECIPE_BYTES} bytes")
        return msgspec.convert(yaml.safe_load(text), Recipe)
    except OSError as error:
        raise Permanent(Code.NOT_FOUND, f"{path}: {error.strerror}; it says which file is what") from error
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError, ValueError) as error:
        raise Permanent(Code.VALIDATION_ERROR, f"{path}: {error}") from error


def _content(folder: Path, name: str, limit: int) -> bytes:
    if "/" in name or "\0" in name or name in {"", ".", ".."}:
        raise ValueError("a document lies beside passport.yaml")
    path = folder / name
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("not a regular file")
        if found.st_size > limit:
            raise ValueError(f"{found.st_size} bytes, the limit is {limit}")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error


async def start_build(owner: Owner, folder: Folder, *, again: bool = False) -> BuildState:
    """Make the build, or go on with one that was stopped; one that is done with the same inputs is done.

    With `again`, a new version is made from the same inputs.
    """
    async with owner.transaction() as tx:
        rules = await published_rules(owner, tx, folder.recipe.rules)
        known = await _known(owner, tx, folder, rules)
        if known is None or (known.state == "DONE" and (again or known.differs(folder))):
            build_id = await _new(owner, tx, folder, rules)
            await _send(owner, tx, build_id, folder.documents)
            return await _state(owner, tx, build_id)
        if known.state == "STOPPED":
            await _go_on(owner, tx, known, folder)
        elif known.state != "DONE":
            await _send(
                owner, tx, known.build_id, folder.documents
            )  # those that were sent are not sent again
        return await _state(owner, tx, known.build_id)


class _Known(msgspec.Struct, frozen=True):
    build_id: UUID
    state: str
    files: list[str]
    hashes: list[bytes | None]
    statuses: list[str]

    def differs(self, folder: Folder) -> bool:
        return bool(self.changed(folder)) or set(self.files) != {each.entry.file for each in folder.documents}

    def changed(self, folder: Folder) -> list[Document]:
        """The documents whose bytes are not those that the build has."""
        has = dict(zip(self.files, self.hashes, strict=True))
        return [each for each in folder.documents if has.get(each.entry.file) != each.sha256]


async def _known(owner: Owner, tx: Tx, folder: Folder, rules: RulesVersion) -> _Known | None:
    """The newest build of this battery with these rules, if it expects these files."""
    recipe = folder.recipe
    params = {
        "tenant_id": owner.tenant_id,
        "identifier": recipe.product.identifier,
        "serial": recipe.passport,
        "rule_package_version_id": rules.rule_package_version_id,
        "law_date": recipe.law_date,
    }
    found = maybe(await tx.query("builds/find_known", params), _Known)
    files = {document.entry.file for document in folder.documents}
    return found if found is not None and set(found.files) == files else None


async def _go_on(owner: Owner, tx: Tx, known: _Known, folder: Folder) -> None:
    """With the documents that were replaced; without any, from the facts, unless one is rejected."""
    build = await builds.hold(tx, known.build_id, owner.tenant_id)
    changed = known.changed(folder)
    if build is not None and changed:
        await builds.move(tx, build, "DOCUMENTS")
        await _send(owner, tx, known.build_id, tuple(changed))
    elif build is not None and "REJECTED" not in known.statuses:
        await builds.documents_done(tx, build)


async def _send(owner: Owner, tx: Tx, build_id: UUID, documents: tuple[Document, ...]) -> None:
    for document in documents:
        await tx.enqueue(_ingest(owner, build_id, document))


async def _new(owner: Owner, tx: Tx, folder: Folder, rules: RulesVersion) -> UUID:
    recipe = folder.recipe
    product = await ensure_product(owner, tx, recipe.product.identifier, recipe.product.name)
    passport = await ensure_passport(owner, tx, product, recipe.passport)
    params = {
        "tenant_id": owner.tenant_id,
        "battery_product_id": product.battery_product_id,
        "passport_id": passport.passport_id,
        "rule_package_version_id": rules.rule_package_version_id,
        "law_date": recipe.law_date,
        "files": [document.entry.file for document in folder.documents],
        "kinds": [document.entry.kind for document in folder.documents],
    }
    made = one(await tx.query("builds/add", params), _Added, "build")
    await tx.query("builds/add_documents", params | {"build_id": made.build_id})
    return made.build_id


class _Added(msgspec.Struct, frozen=True):
    build_id: UUID


def _ingest(owner: Owner, build_id: UUID, document: Document) -> NewJob:
    """By path where a worker may read it there, else with its content."""
    entry = document.entry
    real = document.path.resolve()
    readable = any(real.is_relative_to(folder) for folder in owner.settings.ingest.folders)
    content = {"path": str(real)} if readable else {"content_base64": b64encode(document.content).decode()}
    return NewJob(
        type="INGEST_DOCUMENT",
        payload={
            "kind": entry.kind,
            "mime_type": entry.mime_type,
            "external_ref": entry.file,
            "number_format": entry.number_format,
            "build_id": str(build_id),
        }
        | content,
        idempotency_key=f"{build_id} {entry.file} {document.sha256.hex()}",
        correlation_id=str(build_id),
    )


async def build_state(owner: Owner, build_id: UUID) -> BuildState:
    async with owner.reading() as tx:
        return await _state(owner, tx, build_id)


async def _state(owner: Owner, tx: Tx, build_id: UUID) -> BuildState:
    params = {"tenant_id": owner.tenant_id, "build_id": build_id}
    return one(await tx.query("builds/state", params), BuildState, "build")


async def follow(owner: Owner, build_id: UUID) -> AsyncIterator[BuildState]:
    """The build each time it has moved, until it is done or stopped."""
    last: BuildState | None = None
    while last is None or last.state not in _ENDED:
        state = await build_state(owner, build_id)
        if state != last:
            yield state
            last = state
        if state.state not in _ENDED:
            await asyncio.sleep(_LOOK_SECONDS)
