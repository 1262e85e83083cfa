"""The audit commands that write what strangers can check: checkpoints of the database, and proofs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import FILE, config_option, json_option, tenant_option, uuid_from
from bpc_worker.cli._common.output import counted, show_json
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli._common.startup import explained
from bpc_worker.cli.audit import audit
from bpc_worker.cli.audit.files import reading, writing

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Awaitable, Callable

    from bpc_worker.core.audit.event_proof import Proof
    from bpc_worker.pipeline.audit.checkpoints import Kept
    from bpc_worker.pipeline.session import PipelineSession


@audit.command("checkpoint")
@tenant_option
@click.option("--out", type=FILE, required=True, metavar="FILE")
@json_option("What was written, as one JSON object.")
@config_option
def checkpoint(*, tenant: str, out: Path, as_json: bool, config_path: str | None) -> None:
    r"""Write where every chain of a tenant ends and the root of the tree over all its events, signed.

    It is to be kept outside the database: whoever can change that can delete a chain with its head, and
    `audit verify --against` notices. `audit prove-inclusion` proves single events against it.

    \b
    Example: bpc-worker audit checkpoint --tenant acme --out acme-2027-03-01.json
    """
    from bpc_worker.pipeline.audit.checkpoints import write_checkpoint

    with writing(out, "a checkpoint") as file:
        kept = in_pipeline(config_path, tenant, write_checkpoint, file)
    taken, statement = kept.taken, kept.statement
    if as_json:
        show_json(statement.signed(kept.signature) | {"sha256": statement.hash().hex(), "file": str(out)})
        return
    sizes = f"{counted(kept.heads, 'head')}, {counted(statement.tree.size, 'event')}"
    click.echo(f"{sizes} of {taken.taken_at.isoformat()}, signed with key {taken.signing_key_id}")


@audit.command("prove-inclusion")
@click.argument("event_id")
@click.option("--checkpoint", type=FILE, required=True, metavar="FILE", help="A file of `audit checkpoint`.")
@click.option("--out", type=FILE, required=True, metavar="FILE")
@json_option("What was written, as one JSON object.")
@config_option
def prove_inclusion(
    *, event_id: str, checkpoint: Path, out: Path, as_json: bool, config_path: str | None
) -> None:
    r"""Write a proof that an event is among those that a checkpoint signs; it shows nothing of the others.

    `audit events` lists the ids. Whoever gets the proof needs the issuer's public key and `audit
    check-proof`, or a few lines of any language (docs/formats.md).

    Exit codes: 0 written, 2 the event came after the checkpoint, or a file cannot be used, 3 no such event.

    \b
    Example: bpc-worker audit prove-inclusion 01a4006c-e6a2-7300-a051-d758aae82ac6 --checkpoint acme.json --out proof.json
    """  # noqa: E501 - an example is one line
    from bpc_worker.pipeline.audit import proofs

    wanted = uuid_from(event_id, "event", "`bpc-worker audit events` lists them")
    with explained(), reading("--checkpoint", checkpoint) as kept:
        _write(
            out,
            kept,
            lambda pipeline: proofs.prove_inclusion(pipeline, wanted, kept),
            config_path,
            as_json=as_json,
        )


@audit.command("prove-consistency")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option("--out", type=FILE, required=True, metavar="FILE")
@json_option("What was written, as one JSON object.")
@config_option
def prove_consistency(*, old: Path, new: Path, out: Path, as_json: bool, config_path: str | None) -> None:
    r"""Write a proof that a checkpoint still has every event of an older one, unchanged and in its place.

    Exit codes: 0 written, 2 a file cannot be used, or the database no longer has what they sign.

    \b
    Example: bpc-worker audit prove-consistency acme-03-01.json acme-04-01.json --out spring.proof.json
    """
    from bpc_worker.pipeline.audit import proofs

    with explained(), reading("checkpoint", old) as before, reading("checkpoint", new) as after:
        _write(
            out,
            after,
            lambda pipeline: proofs.prove_consistency(pipeline, before, after),
            config_path,
            as_json=as_json,
        )


def _write(
    out: Path,
    kept: "Kept",
    prove: "Callable[[PipelineSession], Awaitable[Proof]]",
    config_path: str | None,
    *,
    as_json: bool,
) -> None:
    from bpc_worker.core.audit.event_proof import proof_bytes

    with writing(out, "a proof") as file:
        proof = in_pipeline(config_path, str(kept.taken.tenant_id), prove)
        size = file.write(proof_bytes(proof))
    if as_json:
        show_json({"file": str(out), "bytes": size, "hashes": len(proof.path)})
    else:
        click.echo(
            f"{out}: {len(proof.path)} hashes; check it with `bpc-worker audit check-proof {out} --keys FILE`"
        )
