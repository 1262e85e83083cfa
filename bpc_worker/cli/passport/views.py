"""What `passport verify` says of a view: a text of its own, for which no database and no bundle is needed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.output import printable, refused, tell
from bpc_worker.cli._common.trust import SignedBy, Trusted, trusted_keys
from bpc_worker.cli.passport.asked import Asked
from bpc_worker.cli.passport.standing import Standing, of_list
from bpc_worker.cli.passport.told import of_view

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.passport.view_check import VerifiedView
    from bpc_worker.core.passport.view_text import ViewError

_BEGINS = b"eyJ"  # {" in base64url: no zip begins like this
_MAX_VIEW_BYTES = 16 * 1024 * 1024


def is_view(path: str) -> bool:
    """Whether this is a file that begins like a view."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_BEGINS)) == _BEGINS
    except OSError:
        return False


def verify_view_file(path: str, asked: Asked) -> bool:
    """Whether the view is as it was asked for, told already."""
    from bpc_worker.core.base.messages import Kind
    from bpc_worker.core.passport.view_check import verify_view
    from bpc_worker.core.passport.view_text import ViewError
    from bpc_worker.files.reading import read_at_most

    keys = trusted_keys(asked.keys_file)
    with refused(OSError, "name a file that can be read", what=f"{path}: "):
        data = read_at_most(Path(path), _MAX_VIEW_BYTES)
    try:
        text = data.decode("ascii", "replace")
        found = verify_view(text, keys.registry, audience=asked.audience, unique_identifier=asked.identifier)
        _check_issuer(found, keys)
    except ViewError as error:
        _tell_not_valid(path, error, as_json=asked.as_json)
        return False
    standing = of_list(asked, keys, found.text.claims)
    by = keys.signer(found.text.key_id, Kind.VIEW)
    by.warn()
    if asked.as_json:
        click.echo(json.dumps(_members(path, found, by, standing)))
    else:
        _show(found, by, standing)
    return standing.is_as(asked)


def _check_issuer(found: "VerifiedView", keys: Trusted) -> None:
    from bpc_worker.core.passport.view_text import ViewError

    if trouble := keys.trouble_with(found.text.claims.issuer):
        raise ViewError("/claims/iss", trouble)


def _members(path: str, found: "VerifiedView", by: SignedBy, standing: Standing) -> dict[str, object]:
    claims = found.text.claims
    return {
        "view": path,
        "valid": not standing.revoked,
        "unique_identifier": claims.unique_identifier,
        "issuer": claims.issuer,
        "passport_version_id": str(claims.passport_version_id),
        "law_date": claims.law_date.isoformat(),
        "signed_by": by.members(),
        "complete_for": [*found.complete],
        "has_everything": found.is_whole,
        "fields": found.fields,
        "lacks": of_view(found.fields),
        "status_list": {"uri": claims.status_list_uri, "idx": claims.status_list_idx},
    } | standing.members()


def _show(found: "VerifiedView", by: SignedBy, standing: Standing) -> None:
    claims = found.text.claims
    for path, value in sorted(found.fields.items()):
        click.echo(f"{printable(path)}: {printable(json.dumps(value, ensure_ascii=False))}")
    for line in of_view(found.fields):
        click.echo(line)
    whole = " and has everything" if found.is_whole else ""
    click.echo(f"signed with {printable(str(by))}")
    click.echo(f"complete for {', '.join(found.complete) or 'no audience alone'}{whole}")
    named = f"battery {claims.unique_identifier}, version {claims.passport_version_id}"
    click.echo(f"{standing.verdict}: {named}")
    click.echo(standing.told(claims))


def _tell_not_valid(path: str, error: "ViewError", *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"view": path, "valid": False, "place": error.path, "message": error.reason}))
        return
    click.echo(f"FAIL  {error.path}  {printable(error.reason)}")
    click.echo(f"not valid: {path}")
    tell("do not rely on it: ask whoever gave it to you for the original")
