"""`passport verify` notices one flipped bit in any byte of a bundle, and says where."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from bpc_worker.cli.passport import passport
from bpc_worker.core.passport.bundle import PAYLOAD, PROOF, VIEW
from bpc_worker.core.passport.view import cut
from bpc_worker.core.rules.facts import make_fact
from tests.support.generated import inputs
from tests.support.passports import bundle_of, write_keys

RULES = """
field energy.total: Qty(kWh) for public, commission =
  toQty(kWh, requireSome(recordGet(requireSome(getFact("Battery", "b:1")), "kwh"))) * 480;
field low: Bool for authorities = emitCompliance("LOW", field("energy.total") < qty(9, kWh), "little");
"""
ONE_FACT = (make_fact("Battery", "b:1", {"kwh": "75.0"}),)
PARTS = bundle_of(inputs(RULES, ONE_FACT).compiled())
VIEWS = {audience: cut(PARTS[VIEW].decode(), audience).encode() for audience in ("public", "authorities")}

# How a message begins that names a place inside the part.
PLACE = re.compile(
    r"(the proof: not canonical JSON: )?(/|root: |not \S+ at )"
    r"|node \d+: |(the proof: )?[a-z]+_[a-z]+: |signature: "
    r"|missing: |unknown: |the proof: expected an object with "
)
# What can be said of the part as a whole alone: its text is well formed, only not what was signed.
WHOLE = re.compile(
    r"not a signature of |key '.*' is not in|its sha256 is |the facts are not the snapshot's: |"
    r"hash: expected |expected BPC1"
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


@pytest.mark.parametrize("audience", VIEWS)
def test_every_byte_of_a_view_counts_and_the_place_is_named(audience: str, tmp_path: Path) -> None:
    write_keys(tmp_path)
    (tmp_path / "bundle").mkdir()
    file = tmp_path / "bundle" / "view.sd-jwt"
    dice, data = Random(audience), VIEWS[audience]
    command = ["verify", str(file), "--keys", str(tmp_path / "keys.json"), "--json", "--audience", audience]
    for at in range(-1, len(data)):
        changed = data if at < 0 else flipped(data, at, dice)
        file.write_bytes(changed)
        if not changed.startswith(b"eyJ"):
            continue  # no view at all: `verify` takes it for a bundle, and says that it is none
        done = CliRunner().invoke(passport, command)
        said = json.loads(done.stdout)

        assert (done.exit_code, said["valid"]) == ((0, True) if at < 0 else (1, False)), at
        assert at < 0 or said["place"].startswith("/"), said
