"""The commands that check and explain a passport bundle, and make keys. They need no database."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from bpc_worker.cli_parts import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, Group, fail, printable

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.core.bundle import BundleError, Verified
    from bpc_worker.core.explain import Sources
    from bpc_worker.core.signing import KeyRegistry
    from bpc_worker.core.verify import VerifiedProof

_BUNDLE = "BUNDLE is a zip, or a folder, with receipt.json and what goes with it."
_KEYS_HELP = "JSON file with the public keys that count; or BPC_KEYS_FILE."
_STDOUT = "-"
_MAX_FACTS_BYTES = 64 * 1024 * 1024


@click.group(cls=Group, epilog=_BUNDLE)
def passport() -> None:
    """Passports: check and explain a bundle. No database is needed."""


@passport.command("verify", epilog=_BUNDLE)
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--keys", "keys_file", type=click.Path(path_type=Path), envvar="BPC_KEYS_FILE", help=_KEYS_HELP)
@click.option(
    "--facts", "facts_file", type=click.Path(path_type=Path), help="The facts, if they are not in the bundle."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def verify(bundle: Path, *, keys_file: Path | None, facts_file: Path | None, as_json: bool) -> None:
    r"""Check the signature, hashes, proof and QR text of a passport.

    Without the facts, every computation is done again (arithmetic); with them, also that each value
    stands in the fact that the proof names (full).

    Exit codes: 0 valid, 1 not valid, 2 there is nothing to check, or no keys to check it with.

    \b
    Example: bpc-worker passport verify passport.zip --keys keys.json
    """
    from bpc_worker.core.bundle import FACTS, PAYLOAD, PROOF, BundleError, verify_bundle

    parts, registry = _parts(bundle, facts_file), _registry(keys_file)
    try:
        verified = verify_bundle(parts, registry)
    except BundleError as error:
        _not_valid(bundle, error, as_json=as_json)
    absent = sorted({PAYLOAD, PROOF, FACTS} - set(parts))
    _valid(bundle, verified, absent, as_json=as_json)


def _valid(bundle: Path, verified: "Verified", absent: list[str], *, as_json: bool) -> None:
    receipt = verified.receipt
    if as_json:
        checks = [{"check": what, "found": found} for what, found in verified.checks]
        about = {
            "bundle": str(bundle),
            "valid": True,
            "passport_id": str(receipt.passport_id),
            "passport_version_id": str(receipt.passport_version_id),
            "issued_at": receipt.issued_at.isoformat(),
            "law_date": receipt.law_date.isoformat(),
            "checks": checks,
            "absent": absent,
            "unchecked": [*verified.unchecked],
        }
        click.echo(json.dumps(about))
        return
    for what, found in verified.checks:
        click.echo(f"ok  {what:<9}  {printable(found)}")
    click.echo(f"valid: passport {receipt.passport_id}, version {receipt.passport_version_id}")
    if absent:
        click.echo(f"not in the bundle, so not checked: {', '.join(absent)}", err=True)
    if verified.unchecked:
        click.echo(f"in the bundle, but not signed: {', '.join(verified.unchecked)}", err=True)


def _not_valid(bundle: Path, error: "BundleError", *, as_json: bool) -> NoReturn:
    if as_json:
        found = {"bundle": str(bundle), "valid": False, "part": error.part, "message": error.message}
        click.echo(json.dumps(found))
    else:
        click.echo(f"FAIL  {error.part}  {printable(error.message)}")
        click.echo(f"not valid: {bundle}")
        click.echo("do not rely on it: ask whoever gave it to you for the original", err=True)
    raise SystemExit(EXIT_FAILED)


@passport.command("explain", epilog=_BUNDLE)
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("field")
@click.option("--keys", "keys_file", type=click.Path(path_type=Path), envvar="BPC_KEYS_FILE", help=_KEYS_HELP)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def explain(bundle: Path, field: str, *, keys_file: Path | None, as_json: bool) -> None:
    r"""Show how a field got its value, from the published number down to the facts.

    Without keys the proof is checked, but not whose it is. Where the bundle has a sources.json, each fact
    is followed by its place in the suppliers' documents.

    Exit codes: 0 shown, 1 the bundle is not valid, 2 it cannot be used, 3 there is no such field.

    \b
    Example: bpc-worker passport explain passport.zip carbon_footprint.per_kwh --keys keys.json
    """
    from bpc_worker.core.bundle import PROOF, BundleError
    from bpc_worker.core.explain import explain as explained

    parts = _parts(bundle, None)
    if PROOF not in parts:
        fail(EXIT_USAGE, f"{bundle}: there is no {PROOF} in it", "ask for a bundle that has the proof")
    try:
        proved = _proved(parts, keys_file)
    except BundleError as error:
        _not_valid(bundle, error, as_json=as_json)
    if field not in proved.fields:
        fail(EXIT_NOT_FOUND, *map(_one_line, _unknown_field(field, proved)))
    lines = explained(proved, field, _sources(bundle, parts))
    if as_json:
        found = {"field": field, "signature_checked": keys_file is not None, "steps": lines}
        click.echo(json.dumps(found))
    else:
        click.echo("\n".join(map(_one_line, lines)))


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n").replace("\t", " ")


def _unknown_field(field: str, proved: "VerifiedProof") -> list[str]:
    from difflib import get_close_matches

    near = get_close_matches(field, proved.fields, n=1)
    hint = f"did you mean {near[0]}?" if near else "its fields are:"
    return [f"the passport has no field {field!r}: {hint}", *([] if near else sorted(proved.fields))]


def _proved(parts: dict[str, bytes], keys_file: Path | None) -> "VerifiedProof":
    """The proof, as far as it can be checked; BundleError when it does not hold."""
    from bpc_worker.core import bundle as bundles
    from bpc_worker.core.receipt import parse_signed
    from bpc_worker.core.verify import ProofError, verify_proof

    if keys_file is not None:
        verified = bundles.verify_bundle(parts, _registry(keys_file))
        if verified.proof is not None:
            return verified.proof
    click.echo("bpc-worker: no keys were named, so nobody has checked whose passport this is", err=True)
    try:
        receipt = parse_signed(parts[bundles.RECEIPT]).receipt
    except ValueError as error:
        raise bundles.BundleError(bundles.RECEIPT, str(error)) from error
    try:
        proved = verify_proof(parts[bundles.PROOF], law_date=receipt.law_date)
    except ProofError as error:
        raise bundles.BundleError(bundles.PROOF, str(error)) from error
    if proved.root_hash != receipt.proof_root_hash.hex():
        raise bundles.BundleError(bundles.PROOF, "it is not the proof that the receipt names")
    return proved


def _sources(bundle: Path, parts: dict[str, bytes]) -> "Sources":
    from bpc_worker.adapters.bundle_files import SOURCES, BundleFilesError, fact_sources

    if SOURCES not in parts:
        return {}
    try:
        found = fact_sources(parts[SOURCES])
    except BundleFilesError as error:
        fail(EXIT_USAGE, f"{bundle}: {error}", f"remove {SOURCES}, or mend it: nothing else depends on it")
    click.echo(f"bpc-worker: the places come from {SOURCES}, which is not signed", err=True)
    return found


def _parts(bundle: Path, facts_file: Path | None) -> dict[str, bytes]:
    from bpc_worker.adapters.bounded_files import read_at_most
    from bpc_worker.adapters.bundle_files import BundleFilesError, read_bundle
    from bpc_worker.core.bundle import FACTS

    try:
        parts = read_bundle(bundle)
    except BundleFilesError as error:
        fail(EXIT_USAGE, str(error), _BUNDLE)
    if facts_file is not None:
        try:
            parts[FACTS] = read_at_most(facts_file, _MAX_FACTS_BYTES)
        except OSError as error:
            fail(EXIT_USAGE, f"--facts {facts_file}: {error.strerror or error}")
    return parts


def _registry(keys_file: Path | None) -> "KeyRegistry":
    from bpc_worker.adapters.key_files import KeyFileError, read_registry

    if keys_file is None:
        fail(
            EXIT_USAGE,
            "no keys to check the signature with: a key inside the bundle would prove nothing",
            "name them with --keys FILE or BPC_KEYS_FILE; get the file from the issuer by a way you trust",
            'it looks like {"keys": [{"key_id": "…", "public_key": "…", "status": "ACTIVE"}]}',
        )
    try:
        return read_registry(keys_file)
    except KeyFileError as error:
        fail(EXIT_USAGE, f"--keys {error}")


@click.group(cls=Group)
def keys() -> None:
    """Keys: what passports are signed with. No database is needed."""


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
    from bpc_worker.adapters import key_files
    from bpc_worker.core.signing import Ed25519Signer

    if key_id is not None and not (key_id.isprintable() and key_id.strip() == key_id != ""):
        fail(EXIT_USAGE, "--key-id is not empty, and has neither blanks around it nor control characters")
    seed = key_files.new_seed()
    public_key = Ed25519Signer("", seed).public_key
    chosen = key_id or key_files.thumbprint(public_key)
    entry = {"key_id": chosen, "public_key": key_files.base64(public_key), "status": "ACTIVE"}
    registry = json.dumps({"keys": [entry]}, ensure_ascii=False)
    if out == _STDOUT:
        click.echo(key_files.base64(seed))
        click.echo(registry, err=True)
        return
    try:
        key_files.write_seed(Path(out), seed)
    except key_files.KeyFileError as error:
        fail(EXIT_FAILED, f"--out {error}", "name another file; nothing was changed")
    click.echo(registry)
    click.echo(
        f"bpc-worker: key {chosen}: its secret seed is in {out}, readable by you alone; who has it can sign",
        err=True,
    )
