"""GENERATE_QR: the code that goes onto the battery, as text and as a picture."""

from uuid import UUID

import msgspec

from bpc_worker.core.passport.qr_text import QrCapacityError, qr_text
from bpc_worker.domain import builds
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.records import PassportVersion
from bpc_worker.domain.states import BuildStatus, PassportStatus
from bpc_worker.handler_api import ChildTask, Code, Context, HandlerSpec, Payload, Permanent, Tx
from bpc_worker.rows import one


class GenerateQr(Payload, frozen=True):
    passport_version_id: UUID
    build_id: UUID | None = None


class Request(msgspec.Struct, frozen=True):
    text: str


class Response(msgspec.Struct, frozen=True):
    png: bytes


def draw(request: Request) -> Response:
    from bpc_worker.domain.qr_image import qr_png  # Pillow and qrcode are for children

    try:
        return Response(qr_png(request.text))
    except QrCapacityError as error:
        raise Permanent(Code.QR_CAPACITY, str(error)) from error


def draw_any() -> None:
    """Codes of passports are of one size: the tables for it are made once, not in every child."""
    nothing = bytes(32)
    text = qr_text(
        passport_version_id=UUID(int=0),
        payload_hash=nothing,
        proof_root_hash=nothing,
        receipt_hash=nothing,
    )
    draw(Request(text))


DRAW = ChildTask(
    name="handlers.generate_qr:DRAW",
    request=Request,
    response=Response,
    run=draw,
    imports=("bpc_worker.domain.qr_image", "PIL.PngImagePlugin"),
    warm_up=draw_any,
)


async def handle(payload: GenerateQr, ctx: Context) -> None:
    params = {"tenant_id": ctx.job.tenant_id, "passport_version_id": payload.passport_version_id}
    version = one(await ctx.read("passports/read_version", params), PassportVersion, "passport version")
    if version.status == PassportStatus.COMPILING:
        raise Permanent(Code.VALIDATION_ERROR, "the passport version is not signed yet")
    text = qr_text(
        passport_version_id=version.passport_version_id,
        payload_hash=version.payload_hash,
        proof_root_hash=version.proof_root_hash,
        receipt_hash=version.receipt_hash,
    )
    try:
        png = b"" if version.qr_payload is not None else (await ctx.child(DRAW, Request(text))).png
    except Permanent as error:
        await builds.give_up(ctx, payload.build_id, error, BuildStatus.QR, payload.passport_version_id)
    await ctx.complete(lambda tx: _write(tx, payload, ctx, version, text, png))


async def _write(
    tx: Tx, payload: GenerateQr, ctx: Context, version: PassportVersion, text: str, png: bytes
) -> None:
    build = await builds.hold(tx, payload.build_id, ctx.job.tenant_id)
    code = {"qr_payload": text, "qr_png": png}
    params: dict[str, object] = {
        "tenant_id": ctx.job.tenant_id,
        "passport_version_id": version.passport_version_id,
    }
    if png and await tx.query("passports/set_qr", params | code):
        happened = Happened(
            event_type="PASSPORT_QR_GENERATED",
            aggregate_type="passport",
            aggregate_id=version.passport_id,
            payload={"passport_version_id": str(version.passport_version_id)},
        )
        await tell(tx, ctx.job, happened)
    await builds.finish(tx, build, BuildStatus.QR, payload.passport_version_id)


SPEC = HandlerSpec(job_type="GENERATE_QR", payload=GenerateQr, handle=handle, child_tasks=(DRAW,))
