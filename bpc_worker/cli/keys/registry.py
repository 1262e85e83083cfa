"""The commands about a tenant's registry of public keys: add, list, export, retire, revoke."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import config_option, json_option, tenant_option
from bpc_worker.cli._common.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    counted,
    fail,
    json_text,
    refused,
    show_list,
    tell,
)
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli._common.startup import explained, settings_from
from bpc_worker.cli.keys import keys

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.config.settings import Settings
    from bpc_worker.domain.records import SigningKey

_STDOUT = "-"


@keys.command("add")
@click.option("--key-id", help="Its name in receipts; default: the configured key's.")
@click.option("--public-key", help="32 bytes in base64 or hex; default: of the configured key.")
@click.option(
    "--purpose", "purposes", type=click.Choice(["passport", "checkpoint", "status"]), multiple=True,
    help="What it may sign; may be given twice. Default: passport and checkpoint; with status goes no other.",
)  # fmt: skip
@tenant_option
@config_option
def keys_add(
    *,
    key_id: str | None,
    public_key: str | None,
    purposes: tuple[str, ...],
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Register a public key, so that workers may sign with it, and print its key id.

    Without options it is the public half of the signing key that is configured here; with --purpose status,
    that of the configured key of status lists.

    \b
    Example: bpc-worker keys add --tenant acme
    """
    from bpc_worker.core.base.signing import USUAL_PURPOSES, Purpose
    from bpc_worker.pipeline.keys import add_key

    if (key_id is None) != (public_key is None):
        fail(
            EXIT_USAGE,
            "--key-id and --public-key go together",
            "give both, or neither for the configured key",
        )
    if key_id is None or public_key is None:
        key_id, key = _configured_key(settings_from(config_path), of_status=purposes == ("status",))
    else:
        key = _public_key(public_key)
    name, wanted = key_id, frozenset(map(Purpose, purposes)) or USUAL_PURPOSES
    added = in_pipeline(config_path, tenant, add_key, name, key, wanted)
    click.echo(name)
    tell(f"key {name!r} {'is ACTIVE now' if added else 'was there already'}")


def _configured_key(settings: "Settings", *, of_status: bool) -> tuple[str, bytes]:
    from bpc_worker.keys.keyring import DEVELOPMENT_KEY_ID
    from bpc_worker.wiring import keyring

    if of_status:
        with explained():
            signer = keyring(settings).status_signer
        return signer.key_id, signer.public_key
    if settings.signing.key_id is None and settings.env == "prod":
        fail(
            EXIT_USAGE,
            "no signing key is configured here",
            "set BPC_SIGNING_KEY_ID and BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64 (`bpc-worker keys generate`),",
            "or name a key with --key-id and --public-key",
        )
    signer = keyring(settings).signer
    if signer.key_id == DEVELOPMENT_KEY_ID:
        tell("this is the development key: everybody can sign with it, and production refuses it")
    return signer.key_id, signer.public_key


def _public_key(text: str) -> bytes:
    from bpc_worker.files.keys import KeyFileError, public_key

    with refused(KeyFileError, "`bpc-worker keys generate` prints one that is"):
        return public_key(text, "--public-key")


@keys.command("list")
@tenant_option
@json_option("One JSON object per key.")
@config_option
def keys_list(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the tenant's public keys: id, status, public key in base64, fingerprint (RFC 7638), purposes.

    \b
    Example: bpc-worker keys list --tenant acme
    """
    from bpc_worker.files.keys import base64, thumbprint
    from bpc_worker.pipeline.keys import list_keys

    show_list(
        in_pipeline(config_path, tenant, list_keys),
        lambda each: (
            each.key_id, each.status, base64(each.public_key), thumbprint(each.public_key),
            ",".join(sorted(each.purposes)),
        ),
        as_json=as_json,
        encode=lambda each: json_text(_entry(each)),
        nothing="no keys yet; register the configured one with `bpc-worker keys add`",
    )  # fmt: skip


def _entry(key: "SigningKey") -> dict[str, object]:
    """As it stands in a registry file."""
    from bpc_worker.files.keys import base64

    return {
        "key_id": key.key_id,
        "public_key": base64(key.public_key),
        "purposes": sorted(key.purposes),
        "status": key.status,
    }


@keys.command("export")
@click.option("--out", default=_STDOUT, show_default=True, metavar="FILE", help="- is standard output.")
@tenant_option
@config_option
def keys_export(*, out: str, tenant: str, config_path: str | None) -> None:
    r"""Write the tenant's public keys, and for whom they speak, as the file that `--keys` names.

    \b
    Example: bpc-worker keys export --out keys.json --tenant acme
    """
    from bpc_worker.files.keys import KeyFileError, write_registry
    from bpc_worker.pipeline.keys import keys_and_issuers

    found, issuers = in_pipeline(config_path, tenant, keys_and_issuers)
    entries = [_entry(each) for each in found]
    text = json.dumps({"issuers": issuers, "keys": entries}, ensure_ascii=False, indent=2)
    if out == _STDOUT:
        click.echo(text)
        return
    with refused(KeyFileError, "name a file that can be written", what="--out ", code=EXIT_FAILED):
        write_registry(Path(out), text + "\n")
    tell(
        f"{counted(len(found), 'key')} in {out}; `bpc-worker passport verify BUNDLE --keys {out}` reads them"
    )


@keys.command("retire")
@click.argument("key_id", metavar="ID")
@tenant_option
@config_option
def keys_retire(key_id: str, *, tenant: str, config_path: str | None) -> None:
    r"""Let a key sign nothing more; what it has signed still verifies. It cannot be taken back.

    \b
    Example: bpc-worker keys retire 2027-01 --tenant acme
    """
    _change(config_path, tenant, key_id, "RETIRED")


@keys.command("revoke")
@click.argument("key_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@tenant_option
@config_option
def keys_revoke(key_id: str, *, yes: bool, tenant: str, config_path: str | None) -> None:
    r"""Take all trust from a key: nothing it has ever signed verifies any more. It cannot be taken back.

    \b
    Example: bpc-worker keys revoke 2027-01 --tenant acme --yes
    """
    if not yes:
        if not sys.stdin.isatty():
            fail(
                EXIT_USAGE,
                "what the key has signed will no longer verify, for ever",
                "say --yes if that is meant",
            )
        click.confirm(
            f"Nothing that {key_id!r} has signed will verify any more, for ever. Revoke it?",
            abort=True,
            err=True,
        )
    _change(config_path, tenant, key_id, "REVOKED")


def _change(config_path: str | None, tenant: str, key_id: str, status: str) -> None:
    from bpc_worker.core.base.signing import KeyStatus
    from bpc_worker.pipeline.keys import change_key

    changed = in_pipeline(config_path, tenant, change_key, key_id, KeyStatus(status))
    tell(f"key {key_id!r} {'is' if changed else 'was already'} {status}")
    tell("give those who verify the new registry: `bpc-worker keys export --out keys.json`")
