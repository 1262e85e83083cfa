"""The audit commands that need no database: what a stranger does with checkpoints and proofs."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker.cli._common.options import FILE, json_option, keys_option
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    fail,
    printable,
    refused,
    show_json,
    tell,
)
from bpc_worker.cli._common.startup import explained
from bpc_worker.cli._common.trust import SignedBy, Trusted, trusted_keys
from bpc_worker.cli.audit import audit
from bpc_worker.cli.audit.files import reading

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Sequence

    from bpc_worker.core.audit.checkpoint import Statement
    from bpc_worker.core.audit.checkpoint_compare import Counts
    from bpc_worker.core.audit.event_proof import Proof
    from bpc_worker.pipeline.audit.checkpoints import Kept

_MOST_PROOF_BYTES = 1024 * 1024
_MOST_SHOWN = 1000


@audit.command("compare")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@keys_option
@json_option("One JSON object.")
def compare(*, old: Path, new: Path, keys_file: Path | None, as_json: bool) -> None:
    r"""Compare two checkpoints without a database: chains may only have grown.

    Of a chain that grew, two lists of ends cannot tell whether it still begins as it did: `audit
    prove-consistency` proves that, for all events at once.

    Exit codes: 0 nothing is missing, 1 something is or a signature does not verify, 2 cannot be compared.

    \b
    Example: bpc-worker audit compare acme-2027-03-01.json acme-2027-04-01.json --keys keys.json
    """
    with ExitStack() as files, explained():
        before, after = (files.enter_context(reading("checkpoint", path)) for path in (old, new))
        signers = _check_pair(before, after, keys_file)
        counts, broken = _compared(before, after)
    if as_json:
        show_json({"valid": not broken, "same": counts.same, "grown": counts.grown, "begun": counts.begun,
                   "broken": broken, "signed_by": [by.members() for by in signers]})  # fmt: skip
    else:
        for by in signers:
            click.echo(f"signed with {printable(str(by))}")
        for each in broken:
            click.echo(f"BROKEN  {printable(each)}")
        told = f"{counts.same} chains are the same, {counts.grown} grew, {counts.begun} began since"
        click.echo(f"{told}: {f'{len(broken)} broken' if broken else 'nothing is missing'}")
    raise SystemExit(EXIT_FAILED if broken else 0)


def _check_pair(old: "Kept", new: "Kept", keys_file: Path | None) -> list[SignedBy]:
    """Who signed them; each signer once."""
    from bpc_worker.pipeline.audit.checkpoints import check_signature

    keys = trusted_keys(keys_file)
    for kept in (old, new):
        check_signature(keys.registry, kept)
    if old.taken.tenant_id != new.taken.tenant_id:
        fail(EXIT_USAGE, "the checkpoints are of two tenants", "name two of the same tenant")
    if old.taken.taken_at > new.taken.taken_at:
        fail(EXIT_USAGE, "the first checkpoint is younger than the second", "name the older one first")
    if not (old.listed and new.listed):
        tell("a checkpoint without its list of heads tells of its tree only")
    return _signers(keys, [old.statement, new.statement])


def _signers(keys: Trusted, statements: "Sequence[Statement]") -> list[SignedBy]:
    from bpc_worker.core.base.messages import Kind

    names = dict.fromkeys(each.taken.signing_key_id for each in statements)
    signers = [keys.signer(name, Kind.CHECKPOINT) for name in names]
    for by in signers:
        by.warn()
    return signers


def _compared(old: "Kept", new: "Kept") -> "tuple[Counts, list[str]]":
    from bpc_worker.core.audit.checkpoint_compare import Counts, compare_heads, compare_trees
    from bpc_worker.pipeline.audit.checkpoints import heads_of

    counts, broken = Counts(), list[str]()
    if old.listed and new.listed:
        for each in compare_heads(heads_of(old), heads_of(new), counts):
            if len(broken) < _MOST_SHOWN:
                chain = f"{each.key[0]} {each.key[1]} version {each.version}"
                broken.append(f"{chain}  {each.change}: expected {each.expected}, found {each.found}")
    trouble = compare_trees(old.statement.tree, new.statement.tree)
    broken += [trouble] if trouble else []
    return counts, broken


@audit.command("check-proof")
@click.argument("proof", type=FILE)
@keys_option
@click.option(
    "--checkpoint", "checkpoints", type=FILE, multiple=True, metavar="FILE",
    help="A checkpoint of your own that the proof must be about; may be given twice.",
)  # fmt: skip
@json_option("One JSON object.")
def check_proof(*, proof: Path, keys_file: Path | None, checkpoints: tuple[Path, ...], as_json: bool) -> None:
    r"""Check a proof of `audit prove-inclusion` or `audit prove-consistency`, without a database.

    Exit codes: 0 it holds, 1 it does not, 2 it cannot be read, or there are no keys to check it with.

    \b
    Example: bpc-worker audit check-proof event.proof.json --keys keys.json --checkpoint acme-2027-03-01.json
    """
    from bpc_worker.core.audit.event_proof import ProofError, parse_proof, verify_proof

    keys = trusted_keys(keys_file)
    data = _proof_bytes(proof)
    try:
        found = parse_proof(data)
        verify_proof(found, keys.registry)
    except ProofError as error:
        _refused(proof, str(error), as_json=as_json)
    _check_own(proof, found, checkpoints, as_json=as_json)
    about = _about(found)
    signers = _signers(keys, [statement for _, statement in _statements(found)])
    if as_json:
        signed_by = [by.members() for by in signers]
        show_json({"proof": str(proof), "valid": True} | about | {"signed_by": signed_by})
    else:
        click.echo(f"{proof}: valid")
        for by in signers:
            click.echo(f"  signed with {printable(str(by))}")
        for name, value in about.items():
            click.echo(f"  {name:<18} {printable(str(value))}")


def _proof_bytes(proof: Path) -> bytes:
    from bpc_worker.files.reading import read_at_most

    hint = "name a file of `audit prove-inclusion` or `audit prove-consistency`"
    with refused((OSError, ValueError), hint, what=f"{proof}: "):
        return read_at_most(proof, _MOST_PROOF_BYTES)


def _check_own(proof: Path, found: "Proof", checkpoints: tuple[Path, ...], *, as_json: bool) -> None:
    statements = [statement for _, statement in _statements(found)]
    for path in checkpoints:
        with explained(), reading("--checkpoint", path) as kept:
            if kept.statement not in statements:
                _refused(proof, f"it is not about {path}, but about another checkpoint", as_json=as_json)


def _statements(found: "Proof") -> "list[tuple[str, Statement]]":
    from bpc_worker.core.audit.event_proof import Inclusion

    if isinstance(found, Inclusion):
        return [("", found.checkpoint.statement)]
    return [("old ", found.old.statement), ("new ", found.new.statement)]


def _about(found: "Proof") -> dict[str, object]:
    from bpc_worker.core.audit.event_proof import Inclusion
    from bpc_worker.core.base.forms import timestamp

    about: dict[str, object] = {}
    if isinstance(found, Inclusion):
        event = found.event
        about |= {
            "event_id": str(found.event_id),
            "event_type": event.event_type,
            "aggregate": f"{event.aggregate_type} {event.aggregate_id} version {event.aggregate_version}",
            "occurred_at": timestamp(event.occurred_at),
            "actor_id": event.actor_id,
            "leaf_index": found.leaf_index,
        }
    for which, statement in _statements(found):
        name, taken = which.replace(" ", "_"), statement.taken
        about |= {
            f"{name}tree_size": statement.tree.size,
            f"{name}tree_root": statement.tree.root.hex(),
            f"{name}taken_at": timestamp(taken.taken_at),
            f"{name}signed_with": taken.signing_key_id,
        }
    return about


def _refused(proof: Path, reason: str, *, as_json: bool) -> NoReturn:
    if as_json:
        show_json({"proof": str(proof), "valid": False, "reason": reason})
        raise SystemExit(EXIT_FAILED)
    fail(
        EXIT_FAILED,
        f"{proof}: not valid: {printable(reason)}",
        "ask whoever gave it to you for one that `bpc-worker audit check-proof` accepts there",
    )
