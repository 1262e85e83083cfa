"""The commands that check and explain a passport. For a bundle they need no database."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.bundle import BUNDLE, parts_of, sources_of
from bpc_worker.cli._common.options import FILE, config_option, json_option, keys_option
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    fail,
    on_one_line,
    printable,
    tell,
)
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli._common.startup import explained
from bpc_worker.cli._common.trust import SignedBy, Trusted, trusted_keys
from bpc_worker.cli.passport import passport

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.passport.bundle import BundleError, Verified
    from bpc_worker.core.proof.explain import Sources
    from bpc_worker.core.proof.verify import VerifiedProof
    from bpc_worker.pipeline.stored import StoredVersion

_tenant_option = click.option(
    "--tenant",
    help="Id or name of the tenant whose database is asked; or BPC_TENANT, if no file has that name.",
)


@passport.command("verify", epilog=BUNDLE)
@click.argument("bundles", nargs=-1, required=True, metavar="BUNDLE...")
@keys_option
@click.option("--facts", "facts_file", type=FILE, help="The facts, if they are not in the bundle.")
@_tenant_option
@json_option("One JSON object per bundle.")
@config_option
def verify(
    bundles: tuple[str, ...],
    *,
    keys_file: Path | None,
    facts_file: Path | None,
    tenant: str | None,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Check the signature, hashes, proof and QR text of a passport.

    Without the facts, every computation is done again (arithmetic); with them, also that each value
    stands in the fact that the proof names (full). A bundle needs no database, and the issuer's keys, which
    are those of --keys or BPC_KEYS_FILE alone.

    Exit codes: 0 valid, 1 one is not valid, 2 there is nothing to check, or no keys to check it with.

    \b
    Example: bpc-worker passport verify passport.zip --keys keys.json
    """
    found = [
        _verified(
            bundle,
            keys_file=keys_file,
            facts_file=facts_file,
            tenant=tenant,
            as_json=as_json,
            config_path=config_path,
        )
        for bundle in bundles
    ]
    raise SystemExit(0 if all(found) else EXIT_FAILED)


def _verified(
    bundle: str,
    *,
    keys_file: Path | None,
    facts_file: Path | None,
    tenant: str | None,
    as_json: bool,
    config_path: str | None,
) -> bool:
    """Whether it is valid, told already."""
    from bpc_worker.core.base.messages import Kind
    from bpc_worker.core.passport.bundle import FACTS, PAYLOAD, PROOF, BundleError, verify_bundle

    status: str | None = None
    stored = _stored(bundle, tenant, config_path)
    if stored is not None and facts_file is not None:
        fail(EXIT_USAGE, "--facts is for a bundle: the database has the facts", "leave --facts out")
    try:
        keys = _trusted(stored, keys_file)
        if stored is None:
            parts = parts_of(bundle, facts_file)
        else:
            status, parts = stored.row.status, _stored_parts(stored)
        verified = verify_bundle(parts, keys.registry)
    except BundleError as error:
        _tell_not_valid(bundle, error, as_json=as_json)
        return False
    absent = sorted({PAYLOAD, PROOF, FACTS} - set(parts))
    by = keys.signer(verified.receipt.signing_key_id, Kind.RECEIPT)
    _valid(bundle, verified, by, absent, status, as_json=as_json)
    return True


def _trusted(stored: "StoredVersion | None", keys_file: Path | None) -> Trusted:
    """Those that are named go before those of the database, which go with what is in it."""
    if stored is None or keys_file is not None:
        return trusted_keys(keys_file)
    return Trusted(stored.registry, "the tenant's registry").told()


def _stored(wanted: str, tenant: str | None, config_path: str | None) -> "StoredVersion | None":
    """What the database has, if it is asked; a file that is there goes before BPC_TENANT."""
    asked = tenant or (None if os.path.lexists(wanted) else os.environ.get("BPC_TENANT"))
    if asked is None:
        return None
    from bpc_worker.pipeline.stored import read_version

    return in_pipeline(config_path, asked, read_version, wanted)


def _stored_parts(stored: "StoredVersion") -> dict[str, bytes]:
    with explained():
        return stored.parts()


def _valid(
    bundle: str,
    verified: "Verified",
    by: SignedBy,
    absent: list[str],
    status: str | None,
    *,
    as_json: bool,
) -> None:
    receipt = verified.receipt
    by.warn()
    if as_json:
        checks = [{"check": what, "found": found} for what, found in verified.checks]
        about = {
            "bundle": bundle,
            "valid": True,
            "passport_id": str(receipt.passport_id),
            "passport_version_id": str(receipt.passport_version_id),
            "issued_at": receipt.issued_at.isoformat(),
            "law_date": receipt.law_date.isoformat(),
            "signed_by": by.members(),
            "checks": checks,
            "absent": absent,
            "unchecked": [*verified.unchecked],
        }
        click.echo(json.dumps(about if status is None else about | {"status": status}))
        return
    for what, found in verified.checks:
        click.echo(f"ok  {what:<9}  {printable(found)}")
    click.echo(f"signed with {printable(str(by))}")
    click.echo(f"valid: passport {receipt.passport_id}, version {receipt.passport_version_id}")
    if status is not None:
        click.echo(f"status: {status}")
    if absent:
        click.echo(f"not in the bundle, so not checked: {', '.join(absent)}", err=True)
    if verified.unchecked:
        click.echo(f"in the bundle, but not signed: {', '.join(verified.unchecked)}", err=True)


def _tell_not_valid(bundle: str, error: "BundleError", *, as_json: bool) -> None:
    if as_json:
        found = {"bundle": bundle, "valid": False, "part": error.part, "message": error.message}
        click.echo(json.dumps(found))
    else:
        click.echo(f"FAIL  {error.part}  {printable(error.message)}")
        click.echo(f"not valid: {bundle}")
        click.echo("do not rely on it: ask whoever gave it to you for the original", err=True)


@passport.command("explain", epilog=BUNDLE)
@click.argument("bundle")
@click.argument("field")
@keys_option
@_tenant_option
@json_option("One JSON object.")
@config_option
def explain(
    bundle: str,
    field: str,
    *,
    keys_file: Path | None,
    tenant: str | None,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Show how a field got its value, from the published number down to the cells of the documents.

    It is verified first, with the keys of --keys or BPC_KEYS_FILE. In the database, and where the bundle has
    a sources.json, each fact is followed by its place in the suppliers' documents.

    Exit codes: 0 shown, 1 the bundle is not valid, 2 it cannot be used, or no keys, 3 no such field.

    \b
    Example: bpc-worker passport explain passport.zip carbon_footprint.per_kwh --keys keys.json
    """
    from bpc_worker.core.base.messages import Kind
    from bpc_worker.core.passport.bundle import BundleError, verify_bundle
    from bpc_worker.core.proof.explain import explain as steps_of

    stored = _stored(bundle, tenant, config_path)
    keys = _trusted(stored, keys_file)
    try:
        parts, sources = (
            _explained_parts(bundle) if stored is None else (_stored_parts(stored), stored.places())
        )
        verified = verify_bundle(parts, keys.registry)
    except BundleError as error:
        _tell_not_valid(bundle, error, as_json=as_json)
        raise SystemExit(EXIT_FAILED) from error
    by = keys.signer(verified.receipt.signing_key_id, Kind.RECEIPT)
    by.warn()
    proved = verified.proof
    assert proved is not None  # noqa: S101 - both ways to get the parts see to it
    if field not in proved.fields:
        fail(EXIT_NOT_FOUND, *map(on_one_line, _unknown_field(field, proved)))
    lines = steps_of(proved, field, sources)
    if as_json:
        click.echo(json.dumps({"field": field, "signed_by": by.members(), "steps": lines}))
    else:
        tell(f"signed with {by}")
        click.echo("\n".join(map(on_one_line, lines)))


def _explained_parts(bundle: str) -> "tuple[dict[str, bytes], Sources]":
    from bpc_worker.core.passport.bundle import PROOF

    parts = parts_of(bundle, None)
    if PROOF not in parts:
        fail(EXIT_USAGE, f"{bundle}: there is no {PROOF} in it", "ask for a bundle that has the proof")
    return parts, sources_of(bundle, parts)


def _unknown_field(field: str, proved: "VerifiedProof") -> list[str]:
    from difflib import get_close_matches

    near = get_close_matches(field, proved.fields, n=1)
    hint = f"did you mean {near[0]}?" if near else "its fields are:"
    return [f"the passport has no field {field!r}: {hint}", *([] if near else sorted(proved.fields))]
