"""The command that makes a signing key. It needs no database."""

import json
from pathlib import Path

import click

from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, refused, tell
from bpc_worker.cli.keys import keys

_STDOUT = "-"


@keys.command("generate")
@click.option("--key-id", help="Default: the key's RFC 7638 thumbprint.")
@click.option(
    "--out", default="bpc-signing.seed", show_default=True, metavar="FILE",
    help="Where the secret seed goes; - for standard output.",
)  # fmt: skip
def generate(key_id: str | None, out: str) -> None:
    r"""Make a new Ed25519 signing key: a secret seed in a file, and a registry with its public key.

    The registry is what others verify with: it goes to standard output, the seed only to its file.

    \b
    Example: bpc-worker keys generate --out signing.seed
    """
    from bpc_worker.core.base.signing import Ed25519Signer
    from bpc_worker.files import keys as key_files

    if key_id is not None and not (key_id.isprintable() and key_id.strip() == key_id != ""):
        fail(
            EXIT_USAGE,
            "--key-id is not empty, and has neither blanks around it nor control characters",
            "choose a plain one, like 2027-01",
        )
    seed = key_files.new_seed()
    public_key = Ed25519Signer("", seed).public_key
    chosen = key_id or key_files.thumbprint(public_key)
    entry = {"key_id": chosen, "public_key": key_files.base64(public_key), "status": "ACTIVE"}
    registry = json.dumps({"keys": [entry]}, ensure_ascii=False)
    if out == _STDOUT:
        click.echo(key_files.base64(seed))
        click.echo(registry, err=True)
        return
    hint = "name another file; nothing was changed"
    with refused(key_files.KeyFileError, hint, what="--out ", code=EXIT_FAILED):
        key_files.write_seed(Path(out), seed)
    click.echo(registry)
    tell(f"key {chosen}: its secret seed is in {out}, readable by you alone; who has it can sign")
