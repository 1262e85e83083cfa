"""Can this worker sign, with a key that the tenants' registries know and nobody else has?"""

import asyncio
import shlex
from collections.abc import Iterator, Sequence

import psycopg
from psycopg.rows import DictRow

from bpc_worker import wiring
from bpc_worker.core.base import signing
from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.messages import Kind, message
from bpc_worker.doctor.findings import Case, Finding, literal
from bpc_worker.files import keys as key_files
from bpc_worker.handler_api import Signer
from bpc_worker.jobs.errors import JobError, Permanent
from bpc_worker.keys.keyring import development_signer

_NEW_KEY = """bpc-worker keys generate --key-id {name} --out {name}.seed
unset BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64
export BPC_SIGNING_KEY_ID={name} BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64_FILE="$PWD/{name}.seed\""""
_TRIAL = encode({"trial": "bpc-worker doctor: does the signer sign?"})
_UNSIGNED = "SIGN_PASSPORT fails at once, and passports stay unsigned"


def check(case: Case) -> Iterator[Finding]:
    try:
        signer = wiring.keyring(case.settings).signer
    except Permanent:
        yield Finding(
            check="keys.missing",
            what="no signing key is configured",
            why=_UNSIGNED,
            fix=_NEW_KEY.format(name="signing-1"),
            paste="shell",
        )
        signer = None
    if case.settings.env == "prod" and case.settings.disclosure.key is None:
        yield Finding(
            check="keys.disclosure",
            what="no disclosure key is configured",
            why="COMPILE_PASSPORT fails: the salts of withheld fields are made from it",
            fix="head -c 32 /dev/urandom | base64 > disclosure.key && chmod 600 disclosure.key\n"
            'export BPC_DISCLOSURE_KEY_FILE="$PWD/disclosure.key"',
            paste="shell",
        )
    try:
        with case.connection.transaction():
            registries = [(str(row["name"]), _registry(case, row)) for row in case.rows("tenants")]
    except (
        psycopg.errors.UndefinedTable,
        psycopg.errors.UndefinedFunction,
        psycopg.errors.InsufficientPrivilege,
    ):
        return  # of the schema or the role, which is told elsewhere
    if signer is not None:
        yield from _fits(case, signer, registries)
        yield from _signs(signer)
    yield from _unusable(registries)
    if case.settings.env == "prod":
        yield from _known_to_everybody(registries)


def _registry(case: Case, tenant: DictRow) -> list[DictRow]:
    case.connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [str(tenant["tenant_id"])])
    return case.rows("tenant_keys")


def _fits(case: Case, signer: Signer, registries: Sequence[tuple[str, list[DictRow]]]) -> Iterator[Finding]:
    absent: list[str] = []
    for tenant, keys in registries:
        found = next((key for key in keys if key["key_id"] == signer.key_id), None)
        if found is None:
            absent.append(tenant)
        elif bytes(found["public_key"]) != signer.public_key:
            yield _another("keys.other_seed", tenant, signer, "stands for another key in the registry of")
        elif "passport" not in found["purposes"]:
            yield _another("keys.purpose", tenant, signer, "is not for passports in the registry of")
        elif found["status"] != "ACTIVE":
            yield _another(
                "keys.not_active",
                tenant,
                signer,
                f"is {found['status']}, and signs no more, in the registry of",
            )
    if absent:
        yield Finding(
            check="keys.unregistered",
            what=f"key {signer.key_id!r} is not in the registry of {', '.join(absent[:10])}"
            + (f" and {len(absent) - 10} more" if len(absent) > 10 else ""),  # noqa: PLR2004
            why=_UNSIGNED,
            fix="\n".join(f"bpc-worker keys add --tenant {shlex.quote(tenant)}" for tenant in absent),
            paste="shell",
            level=case.grave,
        )


def _signs(signer: Signer) -> Iterator[Finding]:
    """Asked once, for a signature over what is no receipt, as if it were one."""
    try:
        signature = asyncio.run(signer.sign(Kind.RECEIPT, _TRIAL))
        signed = message(Kind.RECEIPT, _TRIAL, signer.key_id)
        signing.verify_ed25519(signer.public_key, signed, signature)
    except (JobError, signing.SignatureError) as error:
        yield Finding(
            check="keys.signer",
            what=f"the signer of key {signer.key_id!r} does not sign: {error.message}",
            why="SIGN_PASSPORT fails, and passports stay unsigned",
            fix="head -c 32 /dev/zero | YOUR_SIGNING_COMMAND receipt   # must print a signature of "
            f"{key_files.base64(signer.public_key)} in base64 or hex: docs/keys.md",
            paste="shell",
        )


def _unusable(registries: Sequence[tuple[str, list[DictRow]]]) -> Iterator[Finding]:
    """Keys that cannot have come in by the front door."""
    for tenant, keys in registries:
        for key in keys:
            try:
                signing.check_public_key(bytes(key["public_key"]))
            except signing.SignatureError as error:
                yield Finding(
                    check="keys.unusable",
                    what=f"key {key['key_id']!r} in the registry of {tenant}: {error.message}",
                    why="somebody put it there behind the commands; it is skipped, and what names it is "
                    "neither signed nor verified",
                    fix="SET session_replication_role = replica;  -- as a superuser\n"
                    f"DELETE FROM signing_keys AS k USING tenants AS t WHERE t.name = {literal(tenant)}"
                    f" AND t.tenant_id = k.tenant_id AND k.key_id = {literal(key['key_id'])};\n"
                    "RESET session_replication_role;",
                )


def _another(check: str, tenant: str, signer: Signer, what: str) -> Finding:
    name = f"{signer.key_id}-next"
    return Finding(
        check=check,
        what=f"the configured key {signer.key_id!r} {what} {tenant}",
        why=f"{_UNSIGNED}; a key id stands for one key for ever",
        fix=f"{_NEW_KEY.format(name=shlex.quote(name))}\nbpc-worker keys add --tenant {shlex.quote(tenant)}",
        paste="shell",
    )


def _known_to_everybody(registries: Sequence[tuple[str, list[DictRow]]]) -> Iterator[Finding]:
    known = development_signer().public_key
    for tenant, keys in registries:
        for key in keys:
            if bytes(key["public_key"]) == known and key["status"] != "REVOKED":
                yield Finding(
                    check="keys.development",
                    what=f"the registry of {tenant} trusts the development key, as {key['key_id']!r}",
                    why="everybody has its seed, so everybody can sign passports that verify",
                    fix=f"bpc-worker keys revoke {shlex.quote(key['key_id'])} --yes"
                    f" --tenant {shlex.quote(tenant)}",
                    paste="shell",
                )
