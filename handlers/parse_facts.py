"""PARSE_FACTS: a document version becomes facts, or a list of what its sender has to fix."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from uuid import UUID

import msgspec

from bpc_worker.core.base import canonical_json
from bpc_worker.documents.model import Accepted, Declared, Problem
from bpc_worker.documents.parse import parse_document
from bpc_worker.domain import builds
from bpc_worker.domain.events import Happened, of_job, tell
from bpc_worker.domain.records import DocumentVersion
from bpc_worker.domain.states import DocumentStatus
from bpc_worker.handler_api import ChildTask, Code, Context, HandlerSpec, Payload, Permanent, Tx
from bpc_worker.rows import one

_PAGE = 10_000  # facts in one statement, which has a limit of seconds
_in_order = attrgetter("fact_type", "fact_key", "schema_version", "canonical")


class ParseFacts(Payload, frozen=True):
    document_version_id: UUID
    build_id: UUID | None = None


class Document(DocumentVersion, frozen=True):
    errors: list[object] | None


class Request(msgspec.Struct, frozen=True):
    declared: Declared
    content: bytes


class ParsedFact(msgspec.Struct, frozen=True):
    fact_type: str
    fact_key: str
    schema_version: int
    canonical: bytes
    pointer: str
    item: str | None


class Response(msgspec.Struct, frozen=True):
    facts: list[ParsedFact] = []
    code: str | None = None  # set when it was rejected
    mistakes: list[Problem] = []  # what it was rejected for, or single values that were not taken


def parse(request: Request) -> Response:
    """In a child: the content is whatever somebody sent."""
    match parse_document(request.content, request.declared):
        case Accepted(facts=found, refused=refused):
            facts = [
                ParsedFact(
                    fact.fact_type,
                    fact.fact_key,
                    fact.schema_version,
                    canonical_json.encode(fact.payload),
                    fact.pointer,
                    fact.item,
                )
                for fact in found
            ]
            return Response(facts=facts, mistakes=[*refused])
        case rejected:
            return Response(code=rejected.code, mistakes=[*rejected.problems])


PARSE = ChildTask(name="handlers.parse_facts:PARSE", request=Request, response=Response, run=parse)


async def handle(payload: ParseFacts, ctx: Context) -> None:
    params = {"tenant_id": ctx.job.tenant_id, "document_version_id": payload.document_version_id}
    document = one(await ctx.read("documents/read", params), Document, "document version")
    if document.status == DocumentStatus.VALIDATED:
        await ctx.complete(lambda tx: _go_on(tx, payload, ctx))
    elif document.status == DocumentStatus.REJECTED:
        await _reject(ctx, payload, document, Code.VALIDATION_ERROR, document.errors or [])
    else:
        declared = Declared(
            kind=document.kind,
            mime_type=document.mime_type,
            number_format=document.number_format,
            mapping=None if document.mapping is None else msgspec.json.decode(document.mapping, type=dict),
        )
        found = await ctx.child(PARSE, Request(declared, await ctx.blob(document.sha256)))
        if found.code is not None:
            await _reject(ctx, payload, document, found.code, msgspec.to_builtins(found.mistakes))
        await ctx.complete(
            lambda tx: _accept(tx, payload, ctx, document, found),
            result={"facts": len(found.facts), "refused": len(found.mistakes)},
        )


async def _go_on(tx: Tx, payload: ParseFacts, ctx: Context) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    if build is not None and await builds.has_document(tx, build, payload.document_version_id):
        await builds.documents_done(tx, build, actor_id=of_job(ctx.job))


async def _accept(tx: Tx, payload: ParseFacts, ctx: Context, document: Document, found: Response) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    facts, refused = found.facts, msgspec.to_builtins(found.mistakes)
    if await _judged(tx, ctx, document, DocumentStatus.VALIDATED, refused or None):
        for page in _pages(facts):
            await _add(tx, ctx, document, page)
        await _tell(tx, ctx, document, "DOCUMENT_VALIDATED", {"facts": len(facts), "refused": len(refused)})
    if build is not None and await builds.has_document(tx, build, payload.document_version_id):
        await builds.documents_done(tx, build, actor_id=of_job(ctx.job))


def _pages(facts: Sequence[ParsedFact]) -> Iterator[Sequence[ParsedFact]]:
    """In one order for all documents: two with the same facts wait for one another, never in a circle."""
    ordered = sorted(facts, key=_in_order)
    for start in range(0, len(ordered), _PAGE):
        yield ordered[start : start + _PAGE]


async def _add(tx: Tx, ctx: Context, document: Document, facts: Sequence[ParsedFact]) -> None:
    columns: dict[str, object] = {
        "tenant_id": ctx.job.tenant_id,
        "fact_types": [fact.fact_type for fact in facts],
        "fact_keys": [fact.fact_key for fact in facts],
        "schema_versions": [fact.schema_version for fact in facts],
        "canonicals": [fact.canonical for fact in facts],
    }
    await tx.query("facts/add", columns)
    sources = {
        "document_version_id": document.document_version_id,
        "pointers": [fact.pointer for fact in facts],
        "items": [fact.item for fact in facts],
    }
    await tx.query("facts/add_sources", columns | sources)


async def _reject(
    ctx: Context, payload: ParseFacts, document: Document, code: str, mistakes: Sequence[object]
) -> None:
    async def write(tx: Tx) -> None:
        build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
        if await _judged(tx, ctx, document, DocumentStatus.REJECTED, mistakes):
            await _tell(tx, ctx, document, "DOCUMENT_REJECTED", {"errors": len(mistakes)})
        if build is not None and await builds.has_document(tx, build, payload.document_version_id):
            await builds.stop_rejected(tx, build, actor_id=of_job(ctx.job))

    noun = "mistake" if len(mistakes) == 1 else "mistakes"
    error = Permanent(
        code,
        f"{document.external_ref} was rejected with {len(mistakes)} {noun}; send a corrected version",
        # Their list quotes the document: it belongs to the tenant's rows, not to the queue.
        detail={"document_version_id": str(document.document_version_id), "mistakes": len(mistakes)},
    )
    await ctx.reject(write, error)


async def _judged(
    tx: Tx, ctx: Context, document: Document, status: DocumentStatus, mistakes: Sequence[object] | None
) -> bool:
    """Whether it is us who judged it; a second job for the same version finds it done."""
    errors = None if mistakes is None else msgspec.json.encode(mistakes).decode()
    params = {"tenant_id": ctx.job.tenant_id, "document_version_id": document.document_version_id}
    return bool(await tx.query("documents/judge", params | {"status": status, "errors": errors}))


async def _tell(tx: Tx, ctx: Context, document: Document, event: str, more: dict[str, object]) -> None:
    happened = Happened(
        event_type=event,
        aggregate_type="document",
        aggregate_id=document.document_id,
        payload={"document_version_id": str(document.document_version_id)} | more,
    )
    await tell(tx, ctx.job, happened)


SPEC = HandlerSpec(job_type="PARSE_FACTS", payload=ParseFacts, handle=handle, child_tasks=(PARSE,))
