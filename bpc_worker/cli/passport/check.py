"""The commands that check and explain a passport. For a bundle they need no database."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from bpc_worker.cli._common.trust import Trusted, trusted_keys
from bpc_worker.cli.passport import passport
from bpc_worker.cli.passport.asked import Asked
from bpc_worker.cli.passport.standing import Standing, of_database, of_list
from bpc_worker.cli.passport.told import of_report
from bpc_worker.cli.passport.views import is_view, verify_view_file

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.passport.bundle import BundleError, Verified
    from bpc_worker.core.proof.verify import VerifiedProof
    from bpc_worker.domain.stored import StoredVersion

_tenant_option = click.option(
    "--tenant",
    help="Id or name of the tenant whose database is asked; or BPC_TENANT, if no file has that name.",
)


@passport.command("verify", epilog=BUNDLE)
@click.argument("bundles", nargs=-1, required=True, metavar="BUNDLE...")
@keys_option
@click.option("--audience", help="Of a view: whom it has to be complete for.")
@click.option("--id", "identifier", metavar="URL", help="Of a view: the battery it has to be about.")
@click.option(
    "--status-list",
    "list_file",
    type=FILE,
    metavar="FILE",
    help="A fresh copy of the list that tells whether it is in force.",
)
@click.option("--current", is_flag=True, help="Exit code 1 also for one that is not in force.")
@_tenant_option
@json_option("One JSON object per bundle.")
@config_option
def verify(bundles: tuple[str, ...], **options: Any) -> None:  # Any: as click gives them; Asked names all
    r"""Check a passport: the bundle of an archive, or the view that somebody was given.

    A bundle is made again from its facts and rules, and every part compared. Of a view: the signature, every
    disclosure, and whom it is complete for. Neither needs a database; both need the issuer's keys, which are
    those of --keys or BPC_KEYS_FILE alone.

    Whether it is in force is told by the database, or by a status list; without either, it is not known. One
    that is revoked is not valid. One that is superseded is valid as issued, and not --current.

    Exit codes: 0 valid, 1 one is not valid, 2 there is nothing to check, or no keys to check it with.

    \b
    Example: bpc-worker passport verify passport.zip --keys keys.json
             bpc-worker passport verify view.sd-jwt --audience public --keys keys.json
    """
    asked = Asked(**options)
    found = [
        verify_view_file(name, asked) if asked.tenant is None and is_view(name) else _verified(name, asked)
        for name in bundles
    ]
    raise SystemExit(0 if all(found) else EXIT_FAILED)


def _verified(bundle: str, asked: Asked) -> bool:
    """Whether it is as it was asked for, told already."""
    from bpc_worker.core.passport.bundle import BundleError

    stored = _stored(bundle, asked.tenant, asked.config_path)
    if stored is not None and asked.list_file is not None:
        fail(EXIT_USAGE, "--status-list is for a bundle: the database knows the status", "leave it out")
    keys = _trusted(stored, asked.keys_file)
    try:
        verified = _checked(parts_of(bundle) if stored is None else _stored_parts(stored), keys)
    except BundleError as error:
        _tell_not_valid(bundle, error, as_json=asked.as_json)
        return False
    standing = of_list(asked, keys, verified.receipt) if stored is None else of_database(stored)
    _tell_valid(bundle, verified, keys, standing, as_json=asked.as_json)
    return standing.is_as(asked)


def _checked(parts: dict[str, bytes], keys: Trusted) -> "Verified":
    """All that the bundle claims, by an issuer for whom the keys speak; else BundleError."""
    from bpc_worker.core.passport.bundle import RECEIPT, BundleError, verify_bundle

    verified = verify_bundle(parts, keys.registry)
    if trouble := keys.trouble_with(verified.receipt.issuer):
        raise BundleError(RECEIPT, trouble)
    return verified


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


def _tell_valid(
    bundle: str, verified: "Verified", keys: Trusted, standing: Standing, *, as_json: bool
) -> None:
    """What was issued holds; whether it still counts, `standing` says."""
    from bpc_worker.core.base.messages import Kind
    from bpc_worker.domain.gap_reports import read_report

    receipt = verified.receipt
    lacks = of_report(read_report(verified.gaps))
    by = keys.signer(receipt.signing_key_id, Kind.RECEIPT)
    by.warn()
    if as_json:
        about = {
            "bundle": bundle,
            "valid": not standing.revoked,
            "passport_id": str(receipt.passport_id),
            "passport_version_id": str(receipt.passport_version_id),
            "issuer": receipt.issuer,
            "unique_identifier": receipt.unique_identifier,
            "issued_at": receipt.issued_at.isoformat(),
            "law_date": receipt.law_date.isoformat(),
            "signed_by": by.members(),
            "checks": [{"check": what, "found": found} for what, found in verified.checks],
            "unchecked": [*verified.unchecked],
            "lacks": lacks,
        }
        click.echo(json.dumps(about | standing.members()))
        return
    for what, found in verified.checks:
        click.echo(f"ok  {what:<9}  {printable(found)}")
    for line in lacks:
        click.echo(line)
    click.echo(f"signed with {printable(str(by))}")
    named = f"passport {receipt.passport_id}, version {receipt.passport_version_id}"
    click.echo(f"{standing.verdict}: {named}")
    click.echo(standing.told(receipt))
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
@click.option("--full", is_flag=True, help="Every step, as a tree.")
@keys_option
@_tenant_option
@json_option("One JSON object.")
@config_option
def explain(
    bundle: str,
    field: str,
    *,
    full: bool,
    keys_file: Path | None,
    tenant: str | None,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Show how a field got its value, from the published number down to the cells of the documents.

    In short: the value, and the law date, tables, fields and facts that it rests on; with --full every step.
    It is verified first, with the keys of --keys or BPC_KEYS_FILE. In the database, and where the bundle has
    a sources.json, each fact is followed by its place in the suppliers' documents.

    Exit codes: 0 shown, 1 the bundle is not valid, 2 it cannot be used, or no keys, 3 no such field.

    \b
    Example: bpc-worker passport explain passport.zip performance.energy --keys keys.json
    """
    from bpc_worker.core.base.messages import Kind
    from bpc_worker.core.passport.bundle import BundleError
    from bpc_worker.core.proof.explain import explain as tree
    from bpc_worker.core.proof.explain import summary

    stored = _stored(bundle, tenant, config_path)
    keys = _trusted(stored, keys_file)
    try:
        parts = parts_of(bundle) if stored is None else _stored_parts(stored)
        verified = _checked(parts, keys)
    except BundleError as error:
        _tell_not_valid(bundle, error, as_json=as_json)
        raise SystemExit(EXIT_FAILED) from error
    by = keys.signer(verified.receipt.signing_key_id, Kind.RECEIPT)
    by.warn()
    proved = verified.proof
    if field not in proved.fields:
        fail(EXIT_NOT_FOUND, *map(on_one_line, _unknown_field(field, proved)))
    sources = sources_of(bundle, parts) if stored is None else stored.places()
    lines = (tree if full else summary)(proved, field, sources)
    if as_json:
        click.echo(json.dumps({"field": field, "signed_by": by.members(), "steps": lines}))
    else:
        tell(f"signed with {by}")
        click.echo("\n".join(map(on_one_line, lines)))


def _unknown_field(field: str, proved: "VerifiedProof") -> list[str]:
    from difflib import get_close_matches

    near = get_close_matches(field, proved.fields, n=1)
    hint = f"did you mean {near[0]}?" if near else "its fields are:"
    return [f"the passport has no field {field!r}: {hint}", *([] if near else sorted(proved.fields))]
