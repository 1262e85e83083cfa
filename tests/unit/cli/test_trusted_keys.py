"""Keys count only by name: what a forger puts beside his work is used by no command."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bpc_worker.cli.audit import audit
from bpc_worker.cli.passport import passport
from bpc_worker.core.passport.bundle import VIEW
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.files.bundles import write_zip
from bpc_worker.files.keys import public_key, thumbprint
from tests.support.generated import inputs
from tests.support.passports import Folder, bundle_of, write_keys
from tests.vectors import load

RULES = """
field low.bound: Int for public = 5;
"""
FACTS = (make_fact("Battery", "b:1", {"kwh": "75.0"}),)
PARTS = bundle_of(inputs(RULES, FACTS).compiled(), FACTS)
CHECKPOINTS = [case["signed"] for case in load("event_tree/checkpoints")["expected"]["checkpoints"]]
PROOF = load("event_tree/inclusion")["expected"][1]
PROOF_KEY = load("event_tree/inclusion")["input"]["public_key"]


def a_zip(folder: Path) -> list[str]:
    write_keys(folder)
    bundle = folder / "passport.zip"
    bundle.write_bytes(write_zip(PARTS))
    return [str(bundle)]


def a_view(folder: Path) -> list[str]:
    write_keys(folder)
    view = folder / "view.sd-jwt"
    view.write_bytes(PARTS[VIEW])
    return [str(view)]


def a_folder(folder: Path) -> list[str]:
    write_keys(folder)
    return [str(Folder.of(folder / "bundle", PARTS).path)]


def keys_inside(folder: Path) -> list[str]:
    bundle = Folder.of(folder / "bundle", PARTS).path
    write_keys(bundle)
    return [str(bundle)]


def checkpoints(folder: Path) -> list[str]:
    files = [folder / f"{number}.json" for number in range(2)]
    for file, text in zip(files, CHECKPOINTS[1:], strict=True):
        file.write_text(text)
    write_keys(folder, key_id="key-2027-1", public_key=PROOF_KEY)
    return [str(file) for file in files]


def a_proof(folder: Path) -> list[str]:
    write_keys(folder, key_id="key-2027-1", public_key=PROOF_KEY)
    file = folder / "proof.json"
    file.write_text(PROOF)
    return [str(file)]


COMMANDS: dict[str, tuple[list[str], Callable[[Path], list[str]], list[str]]] = {
    "verify a zip": (["passport", "verify"], a_zip, []),
    "verify a view": (["passport", "verify"], a_view, []),
    "verify a folder": (["passport", "verify"], a_folder, []),
    "verify with the keys inside": (["passport", "verify"], keys_inside, []),
    "verify for a program": (["passport", "verify"], a_zip, ["--json"]),
    "explain": (["passport", "explain"], a_zip, ["low.bound"]),
    "explain a folder": (["passport", "explain"], a_folder, ["low.bound"]),
    "compare": (["audit", "compare"], checkpoints, []),
    "check-proof": (["audit", "check-proof"], a_proof, []),
}


def run(words: list[str], **env: str) -> Result:
    group, *rest = words
    settings = {"BPC_KEYS_FILE": None, "BPC_TENANT": None} | env
    return CliRunner().invoke({"passport": passport, "audit": audit}[group], rest, env=settings)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_forgery_with_its_own_keys_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (words, forge, more) = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    done = run([*words, *forge(tmp_path), *more])

    assert (done.exit_code, done.stdout) == (2, "")
    assert "not valid: no trusted keys" in done.stderr
    assert "--keys FILE" in done.stderr
    assert "BPC_KEYS_FILE" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("way", ["option", "environment"])
def test_keys_that_are_named_count_wherever_they_lie(name: str, way: str, tmp_path: Path) -> None:
    (words, forge, more) = COMMANDS[name]
    given = forge(tmp_path)
    [keys] = tmp_path.rglob("keys.json")
    if way == "option":
        done = run([*words, *given, *more, "--keys", str(keys)])
    else:
        done = run([*words, *given, *more], BPC_KEYS_FILE=str(keys))

    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_key_is_named_with_its_source_and_its_fingerprint(name: str, tmp_path: Path) -> None:
    (words, forge, more) = COMMANDS[name]
    given = forge(tmp_path)
    [keys] = tmp_path.rglob("keys.json")
    [entry] = json.loads(keys.read_text())["keys"]
    done = run([*words, *given, *more, "--keys", str(keys)])

    assert thumbprint(public_key(entry["public_key"], "")) in done.output
    assert entry["key_id"] in done.output
    assert str(keys) in done.output
