"""The battery that a build is about: its recipe, and the documents that go with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bpc_worker.config.yaml import load_plain
from bpc_worker.core.base.hashing import sha256
from bpc_worker.documents.problems import Problems
from bpc_worker.files.reading import read_regular
from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.builds.recipe import (
    MAX_BYTES,
    DocumentEntry,
    ReadFile,
    Recipe,
    SentEntry,
    mapping_of,
    read_recipe,
)

RECIPE = "passport.yaml"

_MOST_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class Document:
    entry: DocumentEntry
    content: bytes | None  # None: they are a blob of the tenant's
    sha256: bytes

    @staticmethod
    def of(entry: DocumentEntry, content: bytes) -> "Document":
        return Document(entry, content, sha256(content))


@dataclass(frozen=True, slots=True)
class Folder:
    recipe: Recipe
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The same, with documents that were sent before: `builds/sent.py` finds them."""

    recipe: Recipe
    documents: tuple[Document | SentEntry, ...]


def read_folder(folder: Path, *, document_bytes: int) -> Folder:
    """Everything the folder says, with all that is wrong with it at once."""
    path = folder / RECIPE
    problems = Problems(_MOST_PROBLEMS)
    read_file = partial(_read_beside, folder)
    recipe = read_recipe(_loaded(path), read_file, problems)
    if recipe is None:
        raise _refusal(f"{path}: ", problems)
    found = tuple(_read(recipe, read_file, document_bytes, problems))
    if problems:
        raise _refusal(f"{folder}: ", problems)
    return Folder(recipe, tuple(each for each in found if isinstance(each, Document)))


def read_manifest(told: object, files: Mapping[str, bytes], *, document_bytes: int) -> Manifest:
    """What a passport.yaml says, with the files that came beside it: each is one that it names."""
    problems = Problems(_MOST_PROBLEMS)
    used: set[str] = set()

    def read_file(name: str, limit: int) -> bytes:
        if name not in files:
            raise ValueError("is not among the files that came with it; add it, or name a document")
        used.add(name)
        if len(files[name]) > limit:
            raise ValueError(f"has {len(files[name])} bytes, the limit is {limit}")
        return files[name]

    recipe = read_recipe(told, read_file, problems, may_be_sent=True)
    found = () if recipe is None else tuple(_read(recipe, read_file, document_bytes, problems))
    if recipe is not None:
        for name in sorted(set(files) - used):
            problems.add(name, "came with it, and nothing names it; list it under documents")
    if recipe is None or problems:
        raise _refusal("", problems)
    return Manifest(recipe, found)


def read_mapping(path: Path) -> Mapping[str, object]:
    """A mapping.yaml; ValueError tells what is wrong with it."""
    return mapping_of(read_regular(path, MAX_BYTES))


def _read(
    recipe: Recipe, read_file: ReadFile, document_bytes: int, problems: Problems
) -> Iterator[Document | SentEntry]:
    for entry in recipe.documents:
        if isinstance(entry, SentEntry):
            yield entry
            continue
        try:
            yield Document.of(entry, read_file(entry.file, document_bytes))
        except OSError as error:
            problems.add(entry.file, error.strerror or str(error))
        except ValueError as error:
            problems.add(entry.file, str(error))


def _read_beside(folder: Path, name: str, limit: int) -> bytes:
    if "/" in name or "\0" in name or name in {"", ".", ".."}:
        raise ValueError("a document lies beside passport.yaml")
    return read_regular(folder / name, limit)


def _loaded(path: Path) -> object:
    try:
        return load_plain(read_regular(path, MAX_BYTES))
    except OSError as error:
        raise Permanent(Code.NOT_FOUND, f"{path}: {error.strerror}; it says which file is what") from error
    except ValueError as error:
        raise Permanent(Code.VALIDATION_ERROR, f"{path}: {error}") from error


def _refusal(before: str, problems: Problems) -> Permanent:
    listed = (
        f"{each.where}: {each.message}" if each.where else each.message
        for each in problems.rejected().problems
    )
    return Permanent(Code.VALIDATION_ERROR, before + "; ".join(listed))
