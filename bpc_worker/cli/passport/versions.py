"""The commands about passport versions in the database."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import (
    config_option,
    json_option,
    limit_option,
    tenant_option,
    uuid_from,
    wait_options,
)
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    json_text,
    refused,
    show_fields,
    show_json,
    show_list,
    tell,
)
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience
from bpc_worker.cli.passport import VERSION_ID, passport
from bpc_worker.cli.passport.told import of_report
from bpc_worker.domain.states import PassportStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from datetime import datetime
    from uuid import UUID

    from bpc_worker.core.passport.gaps import Report
    from bpc_worker.domain.stored import StoredVersion
    from bpc_worker.pipeline.passports import ListedVersion
    from bpc_worker.pipeline.session import PipelineSession


@passport.command("list")
@click.option(
    "--passport", "wanted", metavar="ID", help="Of one battery: id of its passport, or serial number."
)
@click.option("--status", type=click.Choice([*PassportStatus]), help="Only those.")
@limit_option
@tenant_option
@json_option("One JSON object per version.")
@config_option
def list_(
    *, wanted: str | None, status: str | None, limit: int, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""List passport versions, newest first: id, status, serial number, product, time of issue.

    \b
    Example: bpc-worker passport list --status ACTIVE --tenant acme
    """
    from bpc_worker.pipeline.passports import list_versions

    show_list(
        in_pipeline(config_path, tenant, list_versions, passport=wanted, status=status, limit=limit),
        lambda each: [each.passport_version_id, each.status, each.serial, each.product, each.issued_at],
        as_json=as_json,
        encode=_listed,
        limit=limit,
        nothing="no passport versions; `bpc-worker passport build DIR` makes one",
    )


def _listed(each: "ListedVersion") -> str:
    return json_text(
        {
            "passport_version_id": each.passport_version_id,
            "passport_id": each.passport_id,
            "status": each.status,
            "serial": each.serial,
            "product": each.product,
            "law_date": each.law_date,
            "issued_at": each.issued_at,
            "created_at": each.created_at,
        }
    )


@passport.command("show", epilog=VERSION_ID)
@click.argument("wanted", metavar="ID")
@tenant_option
@json_option("One JSON object.")
@config_option
def show(wanted: str, *, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""Show a passport version: status, hashes, key, dates, and its fields as they are published.

    It is shown as it is stored; `passport verify` and `passport replay` check it.

    \b
    Example: bpc-worker passport show HLS-EV78-2028-000417 --tenant acme
    """
    from bpc_worker.core.passport.bundle import BundleError
    from bpc_worker.domain.gap_reports import read_report
    from bpc_worker.pipeline.stored import read_version

    version = in_pipeline(config_path, tenant, read_version, wanted)
    about = _about(version)
    with refused(BundleError, "`bpc-worker passport replay` says more", code=EXIT_FAILED):
        published = version.published()
    if as_json:
        law = {"law": read_report(version.row.gaps).law}
        show_json(about | law | {name: published.get(name) for name in ("fields", "compliance")})
        return
    show_fields(about.items())
    click.echo()
    show_fields(_flat(published.get("fields"), ""))
    tell(*of_report(read_report(version.row.gaps)))


def _about(version: "StoredVersion") -> dict[str, object]:
    row = version.row
    return {
        "passport_version_id": row.passport_version_id,
        "passport_id": row.passport_id,
        "serial": row.serial,
        "product": row.product,
        "status": row.status,
        "issued_at": row.issued_at,
        "law_date": row.law_date,
        "created_at": row.created_at,
        "snapshot_id": row.snapshot_id,
        "snapshot_hash": row.snapshot_hash,
        "rule_package_version_id": row.rule_package_version_id,
        "dsl_sha256": row.dsl_sha256,
        "compiler_build_id": row.compiler_build_id,
        "payload_hash": row.payload_hash,
        "proof_root_hash": row.proof_root_hash,
        "unique_identifier": row.unique_identifier,
        "receipt_hash": row.receipt_hash,
        "signing_key_id": row.signing_key_id,
        "signature": row.signature,
        "qr_payload": row.qr_payload,
    }


def _flat(fields: object, path: str) -> list[tuple[str, object]]:
    """`{"a": {"b": 1}}` as `a.b`; quantities as number and unit, empty fields with their reason."""
    match fields:
        case {"value": value, "unit": unit, **rest} if not rest:
            return [(path, f"{value} {unit}")]
        case {"status": status, "reason": reason, **rest} if not rest:
            return [(path, f"{status}: {reason}")]
        case dict():
            return [
                line
                for name, inner in fields.items()
                for line in _flat(inner, f"{path}.{name}" if path else str(name))
            ]
        case _:
            return [(path, fields)]


@passport.command("compile")
@click.argument("wanted", metavar="PASSPORT")
@click.option("--snapshot", "snapshot", required=True, metavar="ID", help="A sealed snapshot.")
@click.option(
    "--rules", "rules", required=True, help="NAME for the newest published version, or NAME@VERSION."
)
@click.option(
    "--law-date",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="The day whose law applies: that of placing on the market.",
)
@wait_options("it is compiled")
@tenant_option
@config_option
def compile_(  # noqa: PLR0913 - one argument per option
    wanted: str,
    *,
    snapshot: str,
    rules: str,
    law_date: "datetime",
    wait: bool,
    timeout: float,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Queue another version of a passport, from a sealed snapshot and published rules; print the job's id.

    PASSPORT is the id of a passport, or a serial number. With --wait, the id of the version is printed.

    \b
    Example: bpc-worker passport compile SN-000417 --snapshot 019a… --rules eu_battery --law-date 2028-08-18
    """
    from bpc_worker.pipeline.jobs import wait_for_job
    from bpc_worker.pipeline.passports import compile_version

    snapshot_id = uuid_from(snapshot, "snapshot", "`bpc-worker snapshot list` shows them")

    async def work(pipeline: "PipelineSession") -> object:
        job_id = await compile_version(
            pipeline, wanted, snapshot_id=snapshot_id, rules=rules, law_date=law_date.date()
        )
        if not wait:
            return job_id
        state = await wait_for_job(pipeline, job_id, seconds=timeout, looked=patience())
        return (state.result or {}).get("passport_version_id") if state.succeeded else not_done(state)

    click.echo(in_pipeline(config_path, tenant, work))


@passport.command("activate", epilog=VERSION_ID)
@click.argument("wanted", metavar="ID")
@click.option(
    "--despite", metavar="REASON", help="Answer for what it lacks; kept in the audit trail, on one line."
)
@tenant_option
@config_option
def activate(wanted: str, *, despite: str | None, tenant: str, config_path: str | None) -> None:
    r"""Bring a signed version into force and print its id; the one that was in force is superseded.

    The first version of a passport has all that the law asks for; a later one loses nothing of it. `passport
    gaps` tells what is missing. With --despite it comes into force all the same, if the login has the
    database role bpc_release.

    \b
    Example: bpc-worker passport activate HLS-EV78-2028-000417 --tenant acme
    """
    from bpc_worker.pipeline.gaps import read_version_report
    from bpc_worker.pipeline.passports import activate as activated

    async def work(pipeline: "PipelineSession") -> "tuple[UUID, UUID | None, Report]":
        version, former = await activated(pipeline, wanted, despite=despite)
        return version, former, await read_version_report(pipeline, version)

    version, former, report = in_pipeline(config_path, tenant, work)
    click.echo(version)
    tell(f"version {version} is ACTIVE")
    if former is not None:
        tell(f"version {former} is SUPERSEDED")
    tell(*of_report(report))


@passport.command("revoke", epilog=VERSION_ID)
@click.argument("wanted", metavar="ID")
@click.option("--reason", required=True, help="Kept in the audit trail, on one line.")
@tenant_option
@config_option
def revoke(wanted: str, *, reason: str, tenant: str, config_path: str | None) -> None:
    r"""Revoke a version, for ever, and print its id.

    \b
    Example: bpc-worker passport revoke 019a… --reason "mass of the cells was wrong" --tenant acme
    """
    from bpc_worker.pipeline.passports import revoke as revoked

    version, changed = in_pipeline(config_path, tenant, revoked, wanted, reason)
    click.echo(version)
    tell(f"version {version} {'is REVOKED' if changed else 'was REVOKED before; that reason stays'}")
