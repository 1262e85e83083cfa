"""`webhook verify`: is a request that was received ours? It needs no database."""

import json
from pathlib import Path

import click

from bpc_worker.cli._common.options import json_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, printable, refused, show_json
from bpc_worker.cli.webhook import webhook

_MOST_BYTES = 64 * 1024 * 1024
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)


@webhook.command("verify")
@click.option(
    "--headers", "headers_file", required=True, type=_FILE, help="NAME: VALUE lines, or a JSON object."
)
@click.option(
    "--body", "body_file", required=True, type=_FILE, help="The bytes as they came; - is standard input."
)
@click.option(
    "--secret", envvar="BPC_WEBHOOK_SECRET", show_envvar=True, help="whsec_…; rather as a variable."
)
@click.option("--public-key", help="whpk_…, for the asymmetric signature.")
@click.option("--any-time", is_flag=True, help="Do not mind that it was sent more than five minutes ago.")
@json_option("The result as one JSON object.")
def verify(
    *,
    headers_file: Path,
    body_file: Path,
    secret: str | None,
    public_key: str | None,
    any_time: bool,
    as_json: bool,
) -> None:
    r"""Check the signatures of a received request against the secret, the public key, or both.

    Exit codes: 0 it is ours, 1 it is not, 2 there is nothing to check it with.

    \b
    Example: bpc-worker webhook verify --headers headers.txt --body body.json --any-time
    """
    from bpc_worker.core import webhook_signature
    from bpc_worker.ids import unix_time

    _check_usable(secret, public_key)
    given, body = headers_from(_read(headers_file)), _read(body_file)
    try:
        held = webhook_signature.verify(
            given,
            body,
            now=None if any_time else int(unix_time()),
            secret=secret,
            public_key=public_key,
        )
    except webhook_signature.WebhookSignatureError as error:
        if as_json:
            show_json({"valid": False, "message": str(error)})
        fail(
            EXIT_FAILED,
            f"not valid: {printable(str(error))}",
            "check that the body is byte for byte what came, and that secret and endpoint go together",
        )
    if as_json:
        show_json({"valid": True, "signatures": held})
    else:
        click.echo(f"valid: {', '.join(held)}")


def _check_usable(secret: str | None, public_key: str | None) -> None:
    from bpc_worker.core import webhook_signature

    if secret is None and public_key is None:
        fail(
            EXIT_USAGE,
            "there is nothing to check it with",
            "set BPC_WEBHOOK_SECRET to the secret, or say --public-key",
        )
    with refused(webhook_signature.WebhookSignatureError, "`bpc-worker webhook rotate` prints new ones"):
        if secret is not None:
            webhook_signature.secret_from(secret)
        if public_key is not None:
            webhook_signature.public_key_from(public_key)


def _read(path: Path) -> bytes:
    reading = refused(OSError, "name a file that can be read", what=f"{path}: ")
    with reading, click.open_file(str(path), "rb") as file:
        found: bytes = file.read(_MOST_BYTES + 1)
    if len(found) > _MOST_BYTES:
        fail(EXIT_USAGE, f"{path}: more than {_MOST_BYTES} bytes", "no webhook of ours is that long")
    return found


def headers_from(data: bytes) -> dict[str, str]:
    """As a proxy or `curl -v` prints them, or as JSON. A request line on top is passed over."""
    text = data.decode("utf-8", "replace").strip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            fail(EXIT_USAGE, "--headers: this is no JSON object", "give NAME: VALUE lines, or a JSON object")
        return {str(name): str(value) for name, value in found.items()}
    lines = [line.removeprefix("> ").partition(":") for line in text.splitlines()]
    return {name.strip(): value.strip() for name, colon, value in lines if colon}
