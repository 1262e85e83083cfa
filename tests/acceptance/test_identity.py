"""Who made a battery and how it is called: by commands, into the passport; and what is refused by name."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.pipeline import EXAMPLE, pipeline
from tests.support.worker import command, worker

Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]

GTIN, LEI, GLN = "9520123456788", "529900T8BM49AURSDO55", "9506000134352"
EV78 = "urn:example:helios:ev78"
RULES = """
field operator.name: Text for public =
  toText(requireSome(recordGet(requireSome(getFact("Operator", "operator")), "name")));
field operator.address: Text for public =
  let address = requireSome(recordGet(requireSome(getFact("Operator", "operator")), "address"));
  toText(requireSome(recordGet(address, "en")));
field facility.gln: Text for public =
  let identifiers = requireSome(recordGet(requireSome(getFact("Facility", "facility")), "identifiers"));
  toText(requireSome(recordGet(identifiers, "GLN")));
field product.gtin: Text for public =
  toText(requireSome(recordGet(requireSome(getFact("Product", "product")), "gtin")));
field identity.url: Text for public =
  toText(requireSome(recordGet(requireSome(getFact("Identity", "identity")), "unique_identifier")));
field identity.chemistry: Text for public =
  toText(requireSome(recordGet(requireSome(getFact("Value", "composition.chemistry")), "value")));
"""


@pytest.fixture
def run(db: Database) -> Run:
    """As the application's login, for tenant acme."""
    db.tenant("acme")
    url = db.url_as("bpc_app")

    def act(*words: object, **settings: object) -> Ended:
        done = command(url, *map(str, words), **{"BPC_TENANT": "acme", **settings})
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return act


def ok(done: Ended) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_passport_is_made_step_by_step(db: Database, run: Run) -> None:
    """And what the tables say later changes no version; the next one tells it."""
    pipeline(db, rules=RULES)
    ok(run("host", "add", "id.volt.eu"))
    ok(run("operator", "add", "Volt Works", "--address", "en=Ring 1, Aachen", "--identifier", f"LEI={LEI}"))
    ok(run("facility", "add", "Aachen", "--operator", "Volt Works", "--identifier", f"GLN={GLN}"))
    about = ("--gtin", GTIN, "--operator", "Volt Works", "--facility", "Aachen")
    ok(run("product", "add", EV78, "--name", "Helios EV 78", *about))
    serial, url = ok(run("serials", "make", "--count", 1, "--product", EV78)).split()
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        ok(run("document", "add", EXAMPLE / "battery.json", "--kind", "OTHER", "--wait"))
        first = version(run, serial)
        ok(run("operator", "change", "Volt Works", "--name", "Volt & Co", "--address", "en=Ring 2, Aachen"))
        second = version(run, serial)

    assert url == f"https://id.volt.eu/01/0{GTIN}/21/{serial}"
    assert len(url) == 50
    said = payloads(db)
    assert said[first] == {
        "operator": {"name": "Volt Works", "address": "Ring 1, Aachen"},
        "facility": {"gln": GLN},
        "product": {"gtin": f"0{GTIN}"},
        "identity": {"url": url, "chemistry": "NMC 622 / graphite"},
    }
    assert said[second] == said[first] | {"operator": {"name": "Volt & Co", "address": "Ring 2, Aachen"}}
    assert ok(run("passport", "replay", first)) is not None
    assert ok(run("audit", "verify")) is not None


def version(run: Run, serial: str) -> str:
    """Another version of the passport, from a snapshot of its own."""
    snapshot = ok(run("snapshot", "create", "--document", "battery.json"))
    ok(run("snapshot", "seal", snapshot, "--passport", serial, "--wait"))
    told = ("--snapshot", snapshot, "--rules", "battery_core", "--law-date", "2028-08-18", "--wait")
    return ok(run("passport", "compile", serial, *told))


def payloads(db: Database) -> dict[str, dict[str, object]]:
    rows = db.run(
        "SELECT passport_version_id::text AS id, convert_from(payload, 'UTF8') AS text FROM passport_versions"
    )
    return {str(row["id"]): json.loads(str(row["text"]))["fields"] for row in rows}


def test_a_snapshot_of_one_battery_makes_no_passport_of_another(db: Database, run: Run) -> None:
    pipeline(db, rules="field a: Int for public = 1;")
    ok(run("product", "add", EV78, "--name", "Helios EV 78"))
    ok(run("serials", "add", "ONE", "TWO", "--product", EV78))
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        ok(run("document", "add", EXAMPLE / "battery.json", "--kind", "OTHER", "--wait"))
        snapshot = ok(run("snapshot", "create", "--document", "battery.json"))
        ok(run("snapshot", "seal", snapshot, "--passport", "ONE", "--wait"))
        told = ("--snapshot", snapshot, "--rules", "battery_core", "--law-date", "2028-08-18", "--wait")
        other = run("passport", "compile", "TWO", *told)
        one = run("passport", "compile", "ONE", *told)
        asked = run("passport", "compile", "ONE", *told[:4])

    assert other.returncode == 1
    assert "VALIDATION_ERROR: the snapshot is about https://passports.example/p/" in other.stderr
    assert one.returncode == 0, one.stderr
    assert asked.returncode == 2
    assert "--law-date" in asked.stderr


def test_what_is_no_name_of_a_battery_is_refused_or_warned_of(db: Database, run: Run) -> None:
    named = ("--name", "Helios EV 78")
    digit = run("product", "add", EV78, *named, "--gtin", "9520123456789")
    inside = run("product", "add", EV78, *named, "--gtin", "2012345678903")
    coupon = run("product", "add", EV78, *named, "--gtin", "9801234567892")
    ok(run("host", "add", "id.volt.eu"))
    ok(run("product", "add", EV78, *named, "--gtin", GTIN))
    long = run("serials", "add", "0123456789A", "--product", EV78)
    slash = run("serials", "add", "A/B", "--product", EV78)
    counting = run("serials", "add", "S1", "S2", "--product", EV78)

    for done, said in (
        (digit, "GTIN 9520123456789: its check digit is 9, and should be 8"),
        (inside, "the prefix 2 is for use inside one company"),
        (coupon, "the prefix 98 is for refund receipts and coupons"),
        (long, "has 51 characters, 1 more than the EU registry takes (50)"),
        (slash, "serial 'A/B': '/' is not among A-Z 0-9 - _ ."),
    ):
        assert (done.returncode, done.stdout) == (2, ""), said
        assert said in done.stderr
    assert len(ok(counting).splitlines()) == 2
    assert "warning: these serials count up (S1, S2)" in counting.stderr
    assert len(db.run("SELECT FROM passports")) == 2


def test_a_file_of_products_and_one_of_serials_are_taken(run: Run, tmp_path: Path) -> None:
    file, serials = tmp_path / "products.csv", tmp_path / "serials.txt"
    head = "identifier;name;gtin;model_identifier\n"
    file.write_text(f"{head}urn:a;A;{GTIN};A-1\nurn:b;B;4006381333932;\n;C;;\nurn:a;A;;\n")
    wrong = run("product", "import", file)
    file.write_text(f"{head}urn:a;A;{GTIN};A-1\nurn:b;B;4006381333931;\n")
    first = run("product", "import", file, "--json")
    serials.write_text("\ufeffA7K\n\nB3M\r\n")
    taken = run("serials", "add", "--file", serials, "--product", "urn:b", "--longer-than-registry", "--json")
    again = run("serials", "add", "B3M", "--product", "urn:b", "--longer-than-registry")

    assert wrong.returncode == 2
    for said in ("line 3, column 3: gtin: GTIN 4006381333932", "line 4, column 1", "line 5, column 1"):
        assert said in wrong.stderr
    assert json.loads(ok(first)) == {"added": 2, "changed": 0, "same": 0}
    found = [json.loads(line) for line in ok(taken).splitlines()]
    assert [each["serial"] for each in found] == ["A7K", "B3M"]
    assert "warning: passports.example stands in" in taken.stderr
    assert ok(again).split() == ["B3M", found[1]["unique_identifier"]]
    assert "1 serial of these was there already" in again.stderr


def test_operators_facilities_and_hosts_are_changed_and_listed(run: Run) -> None:
    ok(run("operator", "add", "Volt Works", "--identifier", f"LEI={LEI}"))
    again = run("operator", "add", "Volt Works", "--json")
    ok(run("operator", "change", "Volt Works", "--contact", "post@volt.example", "--name", "Volt"))
    ok(run("facility", "add", "Aachen", "--operator", "Volt"))
    ok(run("facility", "change", "Aachen", "--identifier", f"GLN={GLN}"))
    ok(run("host", "add", "id.volt.eu"))
    no_mark = run("operator", "change", "Volt", "--identifier", "LEI")

    assert json.loads(ok(again))["identifiers"] == {"LEI": LEI}
    assert "was there already; `bpc-worker operator change` changes it" in again.stderr
    assert no_mark.returncode == 2
    assert "'LEI' has no =" in no_mark.stderr
    assert ok(run("operator", "list")).split()[1:] == ["Volt", f"LEI={LEI}"]
    assert ok(run("facility", "list")).split()[1:] == ["Aachen", "Volt", f"GLN={GLN}"]
    assert ok(run("host", "list")).split()[0] == "id.volt.eu"


def test_a_recipe_without_a_law_date_is_refused_with_the_line_to_add(run: Run, tmp_path: Path) -> None:
    recipe = (EXAMPLE / "passport.yaml").read_text()
    (tmp_path / "passport.yaml").write_text(recipe.replace("law_date: 2028-08-18\n", ""))
    done = run("passport", "build", tmp_path)

    assert done.returncode == 2
    assert "law_date is missing" in done.stderr
    assert "add a line like `law_date: 2028-08-18`" in done.stderr
