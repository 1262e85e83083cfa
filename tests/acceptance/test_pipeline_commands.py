"""The commands of a tenant's pipeline as real processes: what they print, how they end, what they say."""

import json
import subprocess
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.pipeline import EXAMPLE
from tests.support.worker import COMMAND, command, environment, worker
from tests.unit.documents.foreign import GENERAL

Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]

RULES = "field a: Int = 1; example e: {} => expect(a, == 1);"
PUBLISHABLE = (
    'field a: Int = 1; property p: cases(500) seed(1) {} forall n: Int in [0, 9] => field("a") == n - n + 1;'
)
SMALL = """
field weight: Qty(kg) for public = declared(kg, "composition.mass_kg");
field place: Text for public = declared(Text, "identity.manufacturing_place");
"""

COMMANDS = [
    ("tenant", "add"), ("tenant", "list"), ("host", "add"), ("host", "list"),
    ("operator", "add"), ("operator", "change"), ("operator", "list"),
    ("facility", "add"), ("facility", "change"), ("facility", "list"),
    ("product", "add"), ("product", "change"), ("product", "import"), ("product", "list"),
    ("serials", "add"), ("serials", "make"), ("serials", "list"),
    ("document", "add"), ("document", "list"), ("document", "show"), ("document", "facts"),
    ("snapshot", "create"), ("snapshot", "seal"), ("snapshot", "list"), ("snapshot", "show"),
    ("rules", "add"), ("rules", "list"), ("rules", "run-tests"), ("rules", "publish"), ("rules", "show"),
    ("keys", "add"), ("keys", "list"), ("keys", "export"), ("keys", "retire"), ("keys", "revoke"),
    ("webhook", "add"), ("webhook", "list"), ("webhook", "test"), ("webhook", "deliveries"),
    ("webhook", "show"), ("webhook", "replay"), ("webhook", "rotate"), ("webhook", "disable"),
    ("webhook", "enable"), ("webhook", "verify"),
]  # fmt: skip


@pytest.fixture
def run(db: Database) -> Run:
    """As the application's login, for tenant acme."""
    db.tenant("acme")
    url = db.url_as("bpc_app")

    def act(*arguments: object, **settings: object) -> Ended:
        done = command(url, *map(str, arguments), **{"BPC_TENANT": "acme", **settings})
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return act


def ok(done: Ended) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def objects(done: Ended) -> list[dict[str, object]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def add(run: Run, name: str, kind: str, *more: str) -> Ended:
    return run("document", "add", EXAMPLE / name, "--kind", kind, "--wait", *more)


def test_every_command_has_an_example_and_imports_nothing_heavy() -> None:
    """In one process: it is the same code, and there are many."""
    heavy = [
        "asyncio",
        "cryptography",
        "psycopg",
        "aio_pika",
        "aiohttp",
        "msgspec",
        "decimal",
        "structlog",
        "yaml",
    ]
    code = (
        "import sys, contextlib, io\n"
        "from bpc_worker.cli import main\n"
        f"for words in {COMMANDS!r}:\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out):\n"
        "        try: main([*words, '--help'], prog_name='bpc-worker')\n"
        "        except SystemExit: pass\n"
        "    example = f'\\n  Example: bpc-worker {\" \".join(words)}'\n"
        "    if example not in out.getvalue(): print('no example', words)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    python = Path(COMMAND[0]).parent / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "[]\n"


def test_documents_become_a_sealed_snapshot(db: Database, run: Run) -> None:
    with worker(db.url_as("bpc_worker")):
        bom = add(run, "bom.csv", "BOM", "--number-format", "1.234,56")
        [pcf] = objects(add(run, "pcf.json", "PCF", "--json"))
        listed = objects(run("document", "list", "--json"))
        facts = objects(run("document", "facts", ok(bom), "--json"))
        made = run("snapshot", "create", "--document", ok(bom), "--document", "pcf.json")
        sealed = run("snapshot", "seal", ok(made), "--wait")
        [again] = objects(run("snapshot", "seal", ok(made), "--json"))
    [shown] = objects(run("snapshot", "show", ok(made), "--json"))
    [document] = objects(run("document", "show", "bom.csv", "--json"))
    words = run("document", "show", "bom.csv")

    assert "14 facts" in bom.stderr
    assert pcf["document"]["status"] == "VALIDATED"  # type: ignore[index]
    assert [(each["external_ref"], each["facts"]) for each in listed] == [("pcf.json", 4), ("bom.csv", 14)]
    assert listed[1]["sha256"] == ok(bom)
    nickel = next(fact for fact in facts if fact["fact_key"] == "component:cathode-nickel")
    assert (nickel["pointer"], nickel["payload"]["mass_kg"]) == ("2:1", "49.250")  # type: ignore[index]
    assert "snapshot seal" in made.stderr
    assert ok(sealed) == shown["snapshot_hash"]
    assert again["job_id"] is None
    assert (shown["status"], shown["facts"]) == ("SEALED", 18)
    assert document["snapshots"] == [{"snapshot_id": ok(made), "status": "SEALED"}]
    assert document["builds"] == []
    assert f"snapshot             {ok(made)} SEALED\n" in words.stdout
    [line] = objects(run("snapshot", "list", "--status", "sealed", "--json"))
    assert line["snapshot_id"] == ok(made)
    db.check_history()


def test_a_rejected_document_is_shown_with_the_place_of_each_mistake(
    db: Database, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "bom.csv"
    file.write_text((EXAMPLE / "bom.csv").read_text().replace("49,250", "forty-nine"))
    sent = ("document", "add", file, "--kind", "bom", "--number-format", "1.234,56", "--wait")
    with worker(db.url_as("bpc_worker")):
        first, second = run(*sent), run(*sent)
        snapshot = run("snapshot", "create", "--document", "bom.csv")
    [found] = objects(run("document", "show", first.stdout.strip(), "--json"))

    for done in (first, second):
        assert done.returncode == 1
        assert "bom.csv is REJECTED" in done.stderr
        assert "line 2, column 3" in done.stderr
        assert "send a corrected file" in done.stderr
    assert (found["status"], found["facts"]) == ("REJECTED", 0)
    assert found["errors"][0]["where"] == "line 2, column 3"  # type: ignore[index]
    assert snapshot.returncode == 2
    assert "bom.csv is REJECTED" in snapshot.stderr


def test_every_value_is_used_kept_or_refused(db: Database, run: Run, tmp_path: Path) -> None:
    rules, sent, better = tmp_path / "small.rules", tmp_path / "general.json", tmp_path / "battery.json"
    rules.write_text(SMALL)
    sent.write_text(json.dumps(GENERAL | {"batteryMass": -5}))
    better.write_text(json.dumps({"battery": {"mass_kg": "412.5"}}))
    ok(run("rules", "add", "small", rules))
    with worker(db.url_as("bpc_worker")):
        added = run("document", "add", sent, "--kind", "OTHER", "--wait")
        ok(run("document", "add", better, "--kind", "OTHER", "--wait"))
        made = run("snapshot", "create", "--document", "general.json", "--document", "battery.json")
        sealed = run("snapshot", "seal", ok(made), "--wait")
    words = ok(run("document", "show", "general.json", "--rules", "small"))
    [shown] = objects(run("document", "show", "general.json", "--rules", "small", "--json"))

    assert "  /batteryMass: composition.mass_kg: -5 is below 0 kg" in added.stderr
    assert "1 value refused; see `bpc-worker document show" in added.stderr
    assert "/manufacturingPlace: identity.manufacturing_place = Am Werk 1, 35576, DE, in place\n" in words
    assert "kept                 /manufacturerInformation/identifier: HSW\n" in words
    assert "refused              /batteryMass: composition.mass_kg: -5 is below 0 kg" in words
    assert shown["status"] == "VALIDATED"
    assert shown["rules"] == ["small@1"]
    assert len(ok(sealed)) == 64  # the weight that cannot be gives way to the one that can
    [weight] = db.run(
        "SELECT payload FROM snapshot_items JOIN facts USING (fact_id) WHERE fact_key = 'composition.mass_kg'"
    )
    assert weight["payload"] == {"value": "412.5"}


def test_waiting_without_a_worker_says_so_and_the_job_stays(db: Database, run: Run) -> None:
    done = run("document", "add", EXAMPLE / "pcf.json", "--kind", "PCF", "--wait", "--timeout", "0.5")
    [job] = db.run("SELECT status, payload FROM jobs")

    assert done.returncode == 1
    assert "no worker has taken it" in done.stderr
    assert "bpc-worker run" in done.stderr
    assert job["status"] == "QUEUED"
    assert run("document", "list").stdout == ""


def test_a_document_may_come_through_a_pipe(db: Database, run: Run) -> None:
    def piped(*more: str) -> Ended:
        return subprocess.run(
            [*COMMAND, "document", "add", "-", "--kind", "OTHER", "--tenant", "acme", *more],
            env=environment(db.url_as("bpc_app")), input="a;b\n1;2\n", capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip

    done = piped("--mime-type", "text/csv", "--ref", "table.csv")
    nameless, typeless = piped("--mime-type", "text/csv"), piped("--ref", "x")
    [job] = db.run("SELECT payload FROM jobs")

    assert len(ok(done)) == 64
    assert job["payload"]["external_ref"] == "table.csv"  # type: ignore[index]
    assert (nameless.returncode, typeless.returncode) == (2, 2)
    assert "--ref" in nameless.stderr
    assert "--mime-type" in typeless.stderr
    assert run("document", "list").returncode == 0


def test_rules_are_added_tested_and_published(db: Database, run: Run, tmp_path: Path) -> None:
    good, poor, broken = tmp_path / "good.rules", tmp_path / "poor.rules", tmp_path / "broken.rules"
    good.write_text(PUBLISHABLE)
    poor.write_text(RULES)
    broken.write_text("field a: Int =\n  1 + qty(2, kg);\n")

    assert ok(run("rules", "add", "mine", good)) == ok(run("rules", "add", "mine", good)) == "mine@1"
    assert ok(run("rules", "add", "mine", poor)) == "mine@2"
    refused = run("rules", "add", "mine", broken)
    early = run("rules", "publish", "mine@1")
    with worker(db.url_as("bpc_worker")):
        tested = run("rules", "run-tests", "mine@1", "--wait")
        [few] = [run("rules", "run-tests", "mine", "--wait", "--json")]
    published, listed = run("rules", "publish", "mine@1"), objects(run("rules", "list", "--json"))
    [shown] = objects(run("rules", "show", "mine@1", "--json"))
    text = run("rules", "show", "mine@1", "--text")

    assert refused.returncode == 1
    assert "line 2, column 5" in refused.stderr
    assert early.returncode == 1
    assert "rules run-tests mine@1" in early.stderr
    assert "mine@1 is VALIDATED: 500 cases pass; next: `bpc-worker rules publish mine@1`" in tested.stderr
    assert tested.returncode == 0
    assert few.returncode == 1
    assert "500 are needed" in few.stderr
    assert json.loads(few.stdout)["status"] == "DRAFT"
    assert ok(published) == "mine@1"
    assert [(each["version"], each["status"]) for each in listed] == [(1, "PUBLISHED"), (2, "DRAFT")]
    assert shown["dsl"] == text.stdout == PUBLISHABLE
    assert shown["last_run"]["cases"] == 500  # type: ignore[index]
    db.check_history()


def test_the_registry_of_keys_is_what_verification_reads(db: Database, run: Run, tmp_path: Path) -> None:
    from bpc_worker.core.base.signing import Ed25519Signer, KeyStatus
    from bpc_worker.files.keys import read_key_file

    key = Ed25519Signer("", bytes(range(32))).public_key
    out = tmp_path / "keys.json"

    own = run("keys", "add")
    assert ok(own) == "development"
    assert "everybody can sign with it" in own.stderr
    assert ok(run("keys", "add", "--key-id", "2027-01", "--public-key", key.hex())) == "2027-01"
    half = run("keys", "add", "--key-id", "2027-02")
    ok(run("keys", "retire", "development"))
    unsure = run("keys", "revoke", "2027-01")
    ok(run("keys", "revoke", "2027-01", "--yes"))
    ok(run("keys", "export", "--out", out))
    listed = objects(run("keys", "list", "--json"))

    assert half.returncode == unsure.returncode == 2
    assert "--public-key" in half.stderr
    assert "--yes" in unsure.stderr
    found = read_key_file(out).registry.keys
    assert (found["2027-01"].public_key, found["2027-01"].status) == (key, KeyStatus.REVOKED)
    assert found["development"].status is KeyStatus.RETIRED
    assert json.loads(out.read_text())["keys"] == listed == json.loads(ok(run("keys", "export")))["keys"]
    assert read_key_file(out).issuers == ("https://passports.example",)
    events = db.run("SELECT event_type, actor_id FROM events ORDER BY occurred_at")
    assert [row["event_type"] for row in events] == ["KEY_ADDED", "KEY_ADDED", "KEY_RETIRED", "KEY_REVOKED"]
    assert {row["actor_id"] for row in events} == {"login:bpc_app_login"}


def test_a_key_of_status_lists_has_that_purpose_alone(run: Run) -> None:
    seed = b64encode(bytes(range(32))).decode()
    settings = {"BPC_SIGNING_STATUS_KEY_ID": "status-1", "BPC_SIGNING_STATUS_PRIVATE_KEY": seed}

    unset = run("keys", "add", "--purpose", "status")
    mixed = run("keys", "add", "--purpose", "status", "--purpose", "passport")
    assert ok(run("keys", "add", "--purpose", "status", **settings)) == "status-1"
    [listed] = objects(run("keys", "list", "--json"))

    assert (unset.returncode, mixed.returncode) == (1, 2)
    assert "BPC_SIGNING_STATUS_KEY_ID" in unset.stderr
    assert "a key for status lists has no other purpose" in mixed.stderr
    assert (listed["key_id"], listed["purposes"]) == ("status-1", ["status"])


def test_the_key_of_a_signing_command_is_added_in_production_too(db: Database, run: Run) -> None:
    from bpc_worker.core.base.signing import Ed25519Signer

    key = Ed25519Signer("", bytes(range(32))).public_key
    done = run(
        "keys", "add",
        BPC_ENV="prod",
        BPC_SIGNING_KEY_ID="hsm-1",
        BPC_SIGNING_PUBLIC_KEY=key.hex(),
        BPC_SIGNING_COMMAND='{"argv": ["/usr/bin/false"]}',
    )  # fmt: skip

    assert ok(done) == "hsm-1"
    assert db.one("SELECT key_id, public_key, status FROM signing_keys") == {
        "key_id": "hsm-1",
        "public_key": key,
        "status": "ACTIVE",
    }


def test_production_registers_no_key_that_nobody_configured(run: Run) -> None:
    done = run("keys", "add", BPC_ENV="prod")

    assert done.returncode == 2
    assert "BPC_SIGNING_KEY_ID" in done.stderr


def test_tenants_and_products_are_listed(db: Database, run: Run) -> None:
    db.tenant("volt")
    added = run("product", "add", "urn:x", "--name", "X\nY")
    again = run("product", "add", "urn:x", "--name", "Z", "--json")

    assert [each["name"] for each in objects(run("tenant", "list", "--json"))] == ["acme", "volt"]
    assert json.loads(again.stdout)["battery_product_id"] == ok(added)
    assert "keeps its name" in again.stderr
    assert run("product", "list").stdout == f"{ok(added)}  urn:x  -  X\\nY\n"
    assert objects(run("product", "list", "--json", "--tenant", "volt")) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["document", "show", "none.csv"], 3, "bpc-worker document list"),
        (["document", "facts", "none.csv"], 3, "bpc-worker document list"),
        (["document", "add", "/no/such.csv", "--kind", "BOM"], 2, "/no/such.csv"),
        (["document", "add", "/etc/hostname", "--kind", "BOM"], 2, "--mime-type"),
        (["snapshot", "show", "none"], 2, "bpc-worker snapshot list"),
        (["snapshot", "seal", "0198c0de-0000-7000-8000-000000000000"], 3, "bpc-worker snapshot list"),
        (["rules", "publish", "none"], 3, "bpc-worker rules list"),
        (["rules", "add", "a b", "battery_core"], 2, "no name of a rule package"),
        (["rules", "add", "mine", "/no/such.rules"], 2, "/no/such.rules"),
        (["keys", "retire", "none"], 3, "bpc-worker keys list"),
        (["keys", "add", "--key-id", "k", "--public-key", "AAAA"], 2, "32 bytes"),
        (["keys", "export", "--out", "/no/such/keys.json"], 1, "/no/such/keys.json"),
        (["product", "list", "--tenant", "nobody"], 3, "bpc-worker tenant add"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else None,
)
def test_what_goes_wrong_is_said_with_the_next_step(
    run: Run, arguments: list[str], code: int, said: str
) -> None:
    done = run(*arguments)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_a_command_without_a_tenant_names_the_option_and_the_variable(db: Database) -> None:
    done = command(db.url, "product", "list")

    assert done.returncode == 2
    assert "--tenant" in done.stderr
    assert "BPC_TENANT" in done.stderr


def test_a_login_that_may_not_is_told_which_role_it_lacks(db: Database) -> None:
    db.tenant("acme")
    done = command(db.url_as("bpc_reader"), "product", "add", "urn:x", "--name", "X", "--tenant", "acme")

    assert done.returncode == 1
    assert "GRANT bpc_app" in done.stderr
