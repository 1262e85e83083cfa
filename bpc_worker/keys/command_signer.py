"""A signer that asks an external program, which has the private key or knows an HSM or KMS that has it.

The program gets the kind as its last argument, the bytes to sign on standard input and the document that they
were made of in a file, so that it can look at what it signs; it answers with the signature as text. What it
says otherwise is kept nowhere: whoever holds a key may say too much about it.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bpc_worker.core.base.forms import SIGNATURE_SIZE
from bpc_worker.core.base.messages import Kind, message
from bpc_worker.handler_api import Command
from bpc_worker.jobs.errors import Code, Permanent, Retryable
from bpc_worker.processes import program as programs
from bpc_worker.processes.program import STDOUT

_MESSAGE_LIMIT = 4096  # key services take no more
_OUTPUT_LIMIT = 4096  # a signature has 88 characters in base64, 128 in hex; the rest is room for blanks
_HEX = re.compile(rb"[0-9a-fA-F]{128}")
_WHAT = "the signing command"


class CommandSigner:
    __slots__ = ("_command", "key_id", "public_key")

    def __init__(self, key_id: str, public_key: bytes, command: Command) -> None:
        self.key_id = key_id
        self.public_key = public_key
        self._command = replace(command, trusted=True)  # an HSM is a device, a KMS is over the network

    async def sign(self, kind: Kind, document: bytes) -> bytes:
        asked = message(kind, document, self.key_id)
        if len(asked) > _MESSAGE_LIMIT:
            reason = f"{_WHAT} signs at most {_MESSAGE_LIMIT} bytes, and the {kind} makes {len(asked)}"
            raise Permanent(Code.VALIDATION_ERROR, reason)
        try:
            with _read_only_file(document) as path:
                code, said = await self._run(kind, asked, path)
        except Retryable as error:  # without its last words
            raise Retryable(error.code, error.message) from None
        if said.cut_short(STDOUT):
            raise Retryable(Code.COMMAND_FAILED, f"{_WHAT} wrote more than {_OUTPUT_LIMIT} bytes: ended")
        if code is None:
            raise Retryable(Code.COMMAND_FAILED, f"{_WHAT} complained at length on standard error: ended")
        if code != 0:
            raise Retryable(Code.COMMAND_FAILED, f"{_WHAT} {programs.how_it_ended(code)}")
        return _signature(said.heard(STDOUT))

    async def _run(
        self, kind: Kind, asked: bytes, document: Path
    ) -> tuple[int | None, programs.Conversation]:
        return await programs.run(
            _WHAT,
            self._command,
            args=(kind.value,),
            stdin=asked,
            env=programs.environment(
                self._command,
                BPC_SIGNING_KEY_ID=self.key_id,
                BPC_SIGNING_PUBLIC_KEY=self.public_key.hex(),
                BPC_DOCUMENT=str(document),
            ),
            limit=_OUTPUT_LIMIT,
            hear_out=False,
        )

    def __repr__(self) -> str:
        return f"CommandSigner(key_id={self.key_id!r}, program={self._command.argv[0]!r})"


@contextmanager
def _read_only_file(document: bytes) -> Iterator[Path]:
    """The document, where the program can read it for as long as the block lasts."""
    with TemporaryDirectory(prefix="bpc-sign-") as folder:
        path = Path(folder) / "document.json"
        path.write_bytes(document)
        path.chmod(0o400)
        yield path


def _signature(answer: bytes) -> bytes:
    """Base64 or hex, with nothing but blanks around it."""
    written = answer.strip()
    if _HEX.fullmatch(written):
        return bytes.fromhex(written.decode("ascii"))
    try:
        decoded = b64decode(written, validate=True)
    except ValueError:
        decoded = b""
    if len(decoded) != SIGNATURE_SIZE:
        raise Retryable(
            Code.COMMAND_FAILED,
            f"{_WHAT} answered {len(answer)} bytes that are not a signature of {SIGNATURE_SIZE} bytes "
            "in base64 or hex",
        )
    return decoded
