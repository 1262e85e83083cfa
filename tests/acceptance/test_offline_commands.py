"""Rules, passports and keys from the command line: real processes, and no database anywhere."""

import json
import os
import stat
import subprocess
from base64 import b64decode
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.passport.bundle import FACTS, PAYLOAD, PROOF, QR_TEXT, RECEIPT, SNAPSHOT, VIEW
from bpc_worker.core.passport.bundle import RULES as RULES_TEXT
from bpc_worker.core.passport.view import cut
from bpc_worker.files.bundles import write_zip
from bpc_worker.files.rules import read_rules
from tests.support.generated import IDENTIFIER, KEY_ID
from tests.support.passports import Folder, bundle_parts, some_facts, write_keys
from tests.support.worker import COMMAND

RULES = read_rules("battery_core")


def run(*arguments: object, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PG", "PYTEST"))
    }
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=kept | settings, input=stdin, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    return bundle_parts()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return write_keys(tmp_path)


@pytest.fixture
def zipped(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    def write(parts: dict[str, bytes]) -> Path:
        file = tmp_path / "passport.zip"
        file.write_bytes(write_zip(parts))
        return file

    return write


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_the_help_imports_nothing_heavy() -> None:
    heavy = ["cryptography", "psycopg", "aio_pika", "aiohttp", "msgspec", "decimal", "zipfile"]
    code = (
        "import sys; from bpc_worker.cli import main\n"
        "try: main(['passport', 'verify', '--help'])\n"
        f"except SystemExit: print([name for name in {heavy} if name in sys.modules])"
    )
    python = Path(COMMAND[0]).parent / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


def test_rules_check_and_test_of_the_shipped_module() -> None:
    checked, tested = run("rules", "check", "battery_core"), run("rules", "test", "battery_core")

    assert checked.returncode == 0
    assert checked.stdout == "battery_core: the table fullCyclesPerYear is a draft\n"
    assert "39 fields" in checked.stderr
    assert tested.returncode == 0
    assert "ok    worked_check  1 case\n" in tested.stdout
    assert "can be published" in tested.stderr


def test_rules_check_shows_the_place_of_an_error() -> None:
    done = run("rules", "check", "-", stdin="field a: Int =\n  1 + qty(2, kg);\n")
    machine = run("rules", "check", "-", "--json", stdin="field a: Int =\n  1 + qty(2, kg);\n")
    found = json.loads(machine.stdout)

    assert done.returncode == machine.returncode == 1
    assert "(line 2, column 5)\n      1 + qty(2, kg);\n        ^\n" in done.stdout
    assert found["ok"] is False
    assert [(each["line"], each["column"]) for each in found["errors"]] == [(2, 5)]


def test_rules_check_shows_warnings_and_lets_them_pass() -> None:
    done = run("rules", "check", "-", stdin="field a: Int = let unused = 1; 2;")

    assert done.returncode == 0
    assert "warning: line 1, column 20: 'unused' is never used" in done.stdout


def test_rules_test_shows_the_failing_case(tmp_path: Path) -> None:
    file = tmp_path / "wrong.rules"
    file.write_text(RULES.replace('"M1": 60', '"M1": 61'))
    done, machine = run("rules", "test", file), run("rules", "test", file, "--json")
    found = json.loads(machine.stdout)

    assert done.returncode == machine.returncode == 1
    assert "FAIL  energy_over_life_by_vehicle" in done.stdout
    assert 'with v = "M1"' in done.stdout
    assert "cannot be published" in done.stderr
    assert found["passed"] is found["publishable"] is False
    assert "worked_check" in {each["name"] for each in found["tests"] if not each["passed"]}


def test_rules_that_pass_with_too_few_cases_cannot_be_published() -> None:
    done = run("rules", "test", "-", stdin="field a: Int = 1; example e: {} => expect(a, == 1);")

    assert done.returncode == 0
    assert "499 more" in done.stderr


def test_rules_diff_names_what_changed() -> None:
    changed = RULES.replace(
        "field identity.status: Text for legit", "field identity.state: Text for public, legit"
    )
    done = run("rules", "diff", "battery_core", "-", stdin=changed)
    machine = run("rules", "diff", "battery_core", "-", "--json", stdin=changed)
    same = run("rules", "diff", "battery_core", "battery_core")

    assert done.returncode == machine.returncode == same.returncode == 0
    assert "- field identity.status\n" in done.stdout
    assert "+ field identity.state\n" in done.stdout
    assert {"kind", "name", "state", "changes"} == set(json.loads(machine.stdout.splitlines()[0]))
    assert (same.stdout, same.stderr) == ("", "the two texts mean the same\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rules", "check", "battery_cor"], "there are battery_core"),
        (["rules", "check", "/no/such.rules"], "No such file"),
        (["rules", "diff", "-", "-"], "only one of the two"),
        (["passport", "verify", "/no/such.zip", "--keys", "/no/keys.json"], "No such file"),
        (["keys", "generate", "--key-id", " k"], "--key-id"),
    ],
)
def test_what_cannot_be_used_is_said_so(arguments: list[str], said: str) -> None:
    done = run(*arguments)

    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_bundle_is_valid_as_a_zip_and_as_a_folder(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path], tmp_path: Path
) -> None:
    archive = run("passport", "verify", zipped(parts), "--keys", keys)
    folder = run("passport", "verify", Folder.of(tmp_path / "b", parts).path, BPC_KEYS_FILE=str(keys))

    assert archive.returncode == folder.returncode == 0, archive.stderr
    assert archive.stdout == folder.stdout
    assert "full, with the facts" in archive.stdout
    for check in ("receipt", "signature", "proof", "payload", "view", "qr"):
        assert f"ok  {check} " in archive.stdout


def test_a_bundle_that_cannot_be_made_again_is_not_valid(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    bundle = zipped({name: data for name, data in parts.items() if name != FACTS})
    done = run("passport", "verify", bundle, "--keys", keys)

    assert done.returncode == 1
    assert "FAIL  facts.json  it is not in the bundle" in done.stdout


def test_a_view_is_complete_for_its_audience_and_about_its_battery(
    parts: dict[str, bytes], keys: Path, tmp_path: Path
) -> None:
    file = tmp_path / "view.sd-jwt"
    file.write_text(cut(parts[VIEW].decode(), "public"))
    whole = tmp_path / "whole.sd-jwt"
    whole.write_bytes(parts[VIEW])
    wanted = ("--keys", keys, "--audience", "public", "--id")
    good = run("passport", "verify", file, *wanted, IDENTIFIER)
    machine = json.loads(run("passport", "verify", file, "--keys", keys, "--json").stdout)
    other = run("passport", "verify", file, *wanted, f"{IDENTIFIER}X")
    more = run("passport", "verify", whole, *wanted, IDENTIFIER)
    less = run("passport", "verify", file, "--keys", keys, "--audience", "authorities")
    all_of_it = run("passport", "verify", whole, "--keys", keys)

    assert good.returncode == 0, good.stderr
    assert "complete for public\n" in good.stdout
    assert 'identity.category: "EV"' in good.stdout
    assert "status not known offline" in good.stdout
    assert (machine["complete_for"], machine["has_everything"]) == (["public"], False)
    assert [each.returncode for each in (other, more, less)] == [1, 1, 1]
    assert "another battery" in other.stdout
    assert "holds more than public may see" in more.stdout
    assert "missing for authorities" in less.stdout
    assert (all_of_it.returncode, "has everything" in all_of_it.stdout) == (0, True)


@pytest.mark.parametrize("part", [RECEIPT, PAYLOAD, PROOF, SNAPSHOT, FACTS, RULES_TEXT, VIEW, QR_TEXT])
def test_a_flipped_bit_is_found_and_its_part_is_named(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path], part: str
) -> None:
    wrong = parts | {part: flipped(parts[part], len(parts[part]) // 2)}
    done = run("passport", "verify", zipped(wrong), "--keys", keys, "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 1
    assert (found["valid"], found["part"]) == (False, part)


def test_facts_of_another_snapshot_are_refused(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    other = parts | {FACTS: parts[FACTS].replace(b'"75.0"', b'"76.0"')}
    done = run("passport", "verify", zipped(other), "--keys", keys)

    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  facts.json  ")
    assert "snapshot" in done.stdout


def test_a_damaged_zip_is_unusable(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    file = zipped(parts)
    data = file.read_bytes()
    file.write_bytes(flipped(data, data.index(parts[PAYLOAD]) + 10))
    done = run("passport", "verify", file, "--keys", keys)

    assert done.returncode == 2
    assert "payload.json" in done.stderr


def test_without_keys_nothing_is_verified(
    parts: dict[str, bytes], zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    done = run("passport", "verify", zipped(parts))

    assert (done.returncode, done.stdout) == (2, "")
    assert "--keys FILE or BPC_KEYS_FILE" in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key_id": "another"}, f"key '{KEY_ID}' is not in the registry"),
        ({"status": "REVOKED"}, "is revoked"),
        ({"public_key": Ed25519Signer("", bytes(32)).public_key.hex()}, "not a signature of public key"),
    ],
)
def test_only_a_registered_key_counts(
    parts: dict[str, bytes],
    zipped: Callable[[dict[str, bytes]], Path],
    tmp_path: Path,
    change: dict[str, str],
    said: str,
) -> None:
    done = run("passport", "verify", zipped(parts), "--keys", write_keys(tmp_path, **change))

    assert done.returncode == 1
    assert said in done.stdout


def test_a_retired_key_still_verifies(
    parts: dict[str, bytes], zipped: Callable[[dict[str, bytes]], Path], tmp_path: Path
) -> None:
    assert (
        run("passport", "verify", zipped(parts), "--keys", write_keys(tmp_path, status="RETIRED")).returncode
        == 0
    )


def test_explain_goes_down_to_the_facts_and_their_sources(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    sources = [{"fact_type": "Value", "fact_key": "carbon.raw_material_kg", "pointers": ["pack.csv 3:7"]}]
    bundle = zipped(parts | {"sources.json": json.dumps(sources).encode()})
    done = run("passport", "explain", bundle, "kept.carbon.per_kwh", "--keys", keys)
    machine = run("passport", "explain", bundle, "kept.carbon.per_kwh", "--keys", keys, "--json")

    assert done.returncode == machine.returncode == 0
    assert done.stdout.startswith("kept.carbon.per_kwh = 0.1500 kgCO2e_per_kWh  [Art. 7(1)(d)")
    assert "fact Value carbon.raw_material_kg (sha256 " in done.stdout
    assert "from pack.csv 3:7" in done.stdout
    assert "not signed" in done.stderr
    assert json.loads(machine.stdout)["signed_by"]["key_id"] == KEY_ID


def test_explain_of_a_field_that_is_not_there_suggests_one(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    done = run("passport", "explain", zipped(parts), "kept.carbon.per_kw", "--keys", keys)

    assert done.returncode == 3
    assert "did you mean kept.carbon.per_kwh?" in done.stderr


def test_explain_checks_the_proof_first(
    parts: dict[str, bytes], keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    wrong = parts | {PROOF: parts[PROOF].replace(b'"36000.0"', b'"36001.0"')}
    other = bundle_parts(law_date=date(2029, 1, 1))
    for bundle in (wrong, parts | {PROOF: other[PROOF]}):
        done = run("passport", "explain", zipped(bundle), "kept.carbon.total_energy", "--keys", keys)
        assert done.returncode == 1
        assert "FAIL  proof.json" in done.stdout
    without = {name: data for name, data in parts.items() if name != PROOF}
    done = run("passport", "explain", zipped(without), "kept.carbon.total_energy", "--keys", keys)
    assert done.returncode == 1
    assert "FAIL  proof.json  it is not in the bundle" in done.stdout


def test_what_others_wrote_cannot_play_with_the_terminal(
    keys: Path, zipped: Callable[[dict[str, bytes]], Path]
) -> None:
    parts = bundle_parts(some_facts({"manufacturer.name": "\x1b[2Jevil\u009b31m\u202e"}))
    done = run("passport", "explain", zipped(parts), "manufacturer.name", "--keys", keys)

    assert done.returncode == 0
    assert not {"\x1b", "\u009b", "\u202e"} & set(done.stdout)
    assert "[2Jevil" in done.stdout


def test_a_new_key_signs_and_its_registry_verifies(tmp_path: Path) -> None:
    seed_file = tmp_path / "k.seed"
    done = run("keys", "generate", "--out", seed_file)
    [entry] = json.loads(done.stdout)["keys"]
    seed = b64decode(seed_file.read_text())

    assert done.returncode == 0
    assert stat.S_IMODE(seed_file.stat().st_mode) == 0o600
    assert Ed25519Signer("", seed).public_key == b64decode(entry["public_key"])
    assert entry["status"] == "ACTIVE"
    assert len(entry["key_id"]) == 43
    assert entry["key_id"] in done.stderr
    assert seed_file.read_text().strip() not in done.stdout + done.stderr


def test_a_seed_is_never_overwritten_and_printed_only_when_asked(tmp_path: Path) -> None:
    seed_file = tmp_path / "k.seed"
    seed_file.write_text("mine")
    refused = run("keys", "generate", "--out", seed_file)
    printed = run("keys", "generate", "--key-id", "k1", "--out", "-")
    [entry] = json.loads(printed.stderr)["keys"]

    assert (refused.returncode, refused.stdout, seed_file.read_text()) == (1, "", "mine")
    assert entry["key_id"] == "k1"
    assert Ed25519Signer("", b64decode(printed.stdout)).public_key == b64decode(entry["public_key"])


def test_a_worker_is_not_disturbed_by_the_variable(tmp_path: Path) -> None:
    """BPC_KEYS_FILE is no setting of the worker, and no typing error of one either."""
    assert run("config", BPC_KEYS_FILE=str(tmp_path / "keys.json")).returncode == 0
