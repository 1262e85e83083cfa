"""A signer that asks a real program: what it gets, and everything that such a program can do wrong."""

import ast
import asyncio
import os
import re
import sys
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.messages import Kind, message
from bpc_worker.core.base.signing import (
    Ed25519Signer,
    Fault,
    KeyRegistry,
    KeyStatus,
    RegisteredKey,
    SignatureError,
)
from bpc_worker.domain.signing import sign_document
from bpc_worker.handler_api import Command
from bpc_worker.jobs.errors import JobError, Permanent, Retryable
from bpc_worker.keys.command_signer import CommandSigner
from tests.support import signing_program

SEED = sha256(b"a seed in an HSM")
KEY = Ed25519Signer("hsm-1", SEED)
REGISTRY = KeyRegistry({"hsm-1": RegisteredKey(KEY.public_key, KeyStatus.ACTIVE)})
RECEIPT = encode({"a": "receipt"})
PROGRAM = str(signing_program.__file__)


def signer(folder: Path, how: str, *more: str, timeout_seconds: float = 20.0) -> CommandSigner:
    seed = folder / "seed"
    seed.write_bytes(SEED)
    argv = (sys.executable, "-I", PROGRAM, str(seed), how, *more)
    command = Command(argv=argv, timeout_seconds=timeout_seconds, env={"SLOT": "7"})
    return CommandSigner("hsm-1", KEY.public_key, command)


async def signature(by: CommandSigner, kind: Kind = Kind.RECEIPT) -> bytes:
    return await sign_document(by, REGISTRY, kind, RECEIPT, key_id="hsm-1")


@pytest.mark.parametrize("how", ["honest", "in hex"])
async def test_a_program_signs(tmp_path: Path, how: str) -> None:
    assert await signature(signer(tmp_path, how)) == KEY.sign(Kind.RECEIPT, RECEIPT)


@pytest.mark.parametrize("kind", [Kind.RECEIPT, Kind.VIEW, Kind.CHECKPOINT])
async def test_it_gets_the_message_its_kind_the_document_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    monkeypatch.setenv("BPC_DATABASE_URL", "postgresql://u:hunter2@h/d")
    told = tmp_path / "told"
    await signature(signer(tmp_path, "tells", str(told)), kind)
    asked, environment, descriptors, last, document, mode = ast.literal_eval(told.read_text())

    assert asked == message(kind, RECEIPT, "hsm-1").hex()
    assert (last, document, mode) == (kind.value, RECEIPT, "0o400")
    assert not await asyncio.to_thread(Path(environment.pop("BPC_DOCUMENT")).exists)  # any more
    environment.pop("LC_CTYPE", None)  # which a Python program gives itself
    assert environment == {
        "PATH": "/bin:/usr/bin",
        "LANG": "C.UTF-8",
        "SLOT": "7",
        "BPC_SIGNING_KEY_ID": "hsm-1",
        "BPC_SIGNING_PUBLIC_KEY": KEY.public_key.hex(),
    }
    assert descriptors[:3] == ["0", "1", "2"]
    assert len(descriptors) == 4  # and the one that lists them


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("crashes", "COMMAND_FAILED", "was ended by SIGABRT"),
        ("gives up", "COMMAND_FAILED", "ended with exit code 3"),
        ("says nothing", "COMMAND_FAILED", "answered 0 bytes that are not a signature"),
        ("raw", "COMMAND_FAILED", "answered 64 bytes that are not a signature"),
        ("floods", "COMMAND_FAILED", "wrote more than 4096 bytes"),
        ("complains at length", "COMMAND_FAILED", "complained at length"),
    ],
)
async def test_a_program_that_fails_is_asked_again_later(
    tmp_path: Path, how: str, code: str, words: str
) -> None:
    with pytest.raises(Retryable, match=words) as caught:
        await signature(signer(tmp_path, how, str(tmp_path / "done")))

    assert caught.value.code == code
    assert not (tmp_path / "done").exists()
    assert_silent(caught.value)


def assert_silent(error: JobError) -> None:
    told = f"{error!r} {error.message} {error.detail} {error.__cause__!r} {error.__suppress_context__}"
    assert SEED.hex() not in told
    assert KEY.sign(Kind.RECEIPT, RECEIPT).hex() not in told


async def test_a_program_that_hangs_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(Retryable, match=r"did not end within 0\.5 s") as caught:
        await signature(signer(tmp_path, "hangs", timeout_seconds=0.5))

    assert caught.value.code == "COMMAND_TIMEOUT"
    assert caught.value.detail is None
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("how", ["lies", "signs something else"])
async def test_a_signature_that_does_not_verify_is_never_used(tmp_path: Path, how: str) -> None:
    with pytest.raises(SignatureError, match="not a signature of public key") as caught:
        await signature(signer(tmp_path, how))

    assert caught.value.fault is Fault.BAD_SIGNATURE


async def test_a_program_that_is_not_there_is_an_error_of_the_configuration() -> None:
    absent = CommandSigner("hsm-1", KEY.public_key, Command(argv=("/no/such/program",)))
    with pytest.raises(Permanent, match=r"CONFIG_MISSING: the signing command cannot be started"):
        await signature(absent)


async def test_the_event_loop_goes_on_while_a_program_thinks(tmp_path: Path) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await signature(signer(tmp_path, "honest"))
    ticking.cancel()

    assert ticks > 100


async def test_a_cancelled_wait_ends_the_program(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    asking = asyncio.create_task(signature(signer(tmp_path, "hangs", str(pipe), timeout_seconds=600)))
    pid = int(await asyncio.to_thread(pipe.read_text))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 10)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_program_in_the_documentation_signs(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "keys.md"
    [script] = re.findall(r"```sh\n(#!/bin/sh.*?)```", page.read_text(), re.DOTALL)
    key = tmp_path / "key.pem"
    key.write_bytes(
        Ed25519PrivateKey.from_private_bytes(SEED).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
    )
    program = tmp_path / "sign"
    program.write_text(script.replace("/run/secrets/key.pem", str(key)))
    program.chmod(0o700)
    documented = CommandSigner("hsm-1", KEY.public_key, Command(argv=(str(program),)))

    assert await signature(documented) == KEY.sign(Kind.RECEIPT, RECEIPT)


async def test_a_message_that_key_services_do_not_take_is_not_handed_over(tmp_path: Path) -> None:
    told = tmp_path / "told"
    long = encode({"a": "x" * 4096})
    with pytest.raises(Permanent, match=r"signs at most 4096 bytes, and the view makes 5\d\d\d$"):
        await signer(tmp_path, "tells", str(told)).sign(Kind.VIEW, long)

    assert not told.exists()


def test_it_shows_the_program_and_not_its_arguments(tmp_path: Path) -> None:
    assert repr(signer(tmp_path, "--pin=1234")) == (
        f"CommandSigner(key_id='hsm-1', program={sys.executable!r})"
    )
