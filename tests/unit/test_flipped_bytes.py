"""`passport verify` notices one flipped bit in any byte of a bundle, and says where."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from bpc_worker.cli.passport import passport
from bpc_worker.core.passport.bundle import FACTS, PAYLOAD, PROOF, RECEIPT, VIEW
from bpc_worker.core.rules.facts import make_fact
from tests.support.generated import inputs
from tests.support.passports import bundle_of, write_keys

RULES = """
field energy.total: Qty(kWh) for public, commission =
  toQty(kWh, requireSome(recordGet(requireSome(getFact("Battery", "b:1")), "kwh"))) * 480;
field low: Bool for authorities = emitCompliance("LOW", field("energy.total") < qty(9, kWh), "little");
"""
ONE_FACT = (make_fact("Battery", "b:1", {"kwh": "75.0"}),)
PARTS = bundle_of(inputs(RULES, ONE_FACT).compiled(), ONE_FACT)
SIZE = PARTS[VIEW].index(b'"tree_size":') + len('"tree_size":')

# How a message begins that names a place inside the part.
PLACE = re.compile(
    r"(the proof: not canonical JSON: )?(/|root: |not \S+ at )"
    r"|node \d+: |(the proof: )?[a-z]+_[a-z]+: |signature: "
    r"|missing: |unknown: |the proof: expected an object with "
)
# What can be said of the part as a whole alone: its text is well formed, only not what was signed.
WHOLE = re.compile(
    r"not a signature of |key '.*' is not in|its sha256 is |they give the snapshot hash|expected BPC1"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_keys(tmp_path)
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    for name, data in PARTS.items():
        (bundle / name).write_bytes(data)
    return bundle


def verify(bundle: Path) -> tuple[int, dict[str, Any]]:
    keys = str(bundle.parent / "keys.json")
    done = CliRunner().invoke(passport, ["verify", str(bundle), "--keys", keys, "--json"])
    return done.exit_code, json.loads(done.stdout)


def flipped(data: bytes, at: int, dice: Random) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


@pytest.mark.parametrize("part", PARTS)
def test_every_byte_counts_and_the_place_is_named(part: str, folder: Path) -> None:
    dice, data, vague = Random(part), PARTS[part], 0
    assert verify(folder)[0] == 0
    for at in range(len(data)):
        (folder / part).write_bytes(flipped(data, at, dice))
        code, said = verify(folder)

        assert (code, said["valid"], said["part"]) == (1, False, part), at
        placed = PLACE.match(said["message"])
        assert placed or WHOLE.match(said["message"]), said
        vague += not placed

    assert vague == 0 or part not in {PAYLOAD, PROOF, VIEW}


@pytest.mark.parametrize("part", [RECEIPT, PAYLOAD, VIEW])
def test_every_byte_counts_without_proof_and_facts(part: str, folder: Path) -> None:
    """But for the size of the tree in a view, which nothing signed says: docs/formats.md has it."""
    dice, data = Random(part), PARTS[part]
    (folder / PROOF).unlink()
    (folder / FACTS).unlink()
    for at in range(len(data)):
        if (part, at) == (VIEW, SIZE):
            continue
        (folder / part).write_bytes(flipped(data, at, dice))
        code, said = verify(folder)

        assert (code, said["part"]) == (1, part), at
