"""A battery called `x`, of which hardly anything is known, under the shipped rules: it stays out of force."""

import json
from pathlib import Path

import pytest

from bpc_worker.files.rules import read_rules
from tests.support import law_table
from tests.support.database import Database
from tests.support.pipeline import pipeline
from tests.support.worker import command, worker

pytestmark = pytest.mark.acceptance

BATTERY = {
    "battery_id": "x", "manufacturer": "Volt Works", "manufacturing_place": "Aachen", "category": "EV",
    "manufacturing_date": "2027-01-01", "status": "original", "chemistry": "NMC", "mass_kg": "400",
    "rated_capacity_ah": "200", "v_min": "300", "v_nom": "400", "v_max": "450",
}  # fmt: skip
FOLDER = """
product: {name: "A battery", identifier: "urn:example:x"}
passport: "x"
rules: RULES
law_date: 2027-02-18
documents: [{file: battery.json, kind: OTHER, mime_type: application/json}]
"""
HAS = {
    "EC-01", "EC-03", "EC-06", "EC-07", "EC-08", "EC-09", "EC-10", "EC-11", "EC-12", "EC-26", "EC-27",
    "EC-28", "EC-67", "R-04",
}  # fmt: skip
UNASKED = {"EC-68", "EC-69", "EC-70", "EC-71", "R-11", "R-13"}  # new, nothing measured, no battery before it


def asked() -> set[str]:
    """By the table alone: required of an EV on that day, or hanging on a condition that nobody declared."""
    return {
        row["point"]
        for row in law_table.read(law_table.POINTS)
        if (row["class"], row["gate"], row["then"], row["act"]) == ("EV", "stop", "required", "")
        and row["from"] <= "2027-02-18"
    } - UNASKED


def test_it_cannot_be_activated_and_its_report_names_every_missing_point_and_no_other(
    db: Database, tmp_path: Path
) -> None:
    pipeline(db, rules=read_rules("eu_battery"))
    rules = str(db.one("SELECT name FROM rule_packages")["name"])
    (tmp_path / "passport.yaml").write_text(FOLDER.replace("RULES", rules))
    (tmp_path / "battery.json").write_text(json.dumps({"battery": BATTERY}))
    url, tenant = db.url_as("bpc_app"), ("--tenant", "acme")
    with worker(db.url_as("bpc_worker")) as running:
        running.wait_ready()
        built = command(url, "passport", "build", str(tmp_path), *tenant)
    refused = command(url, "passport", "activate", "x", *tenant)
    report = command(url, "passport", "gaps", "x", "--format", "json", *tenant)

    assert built.returncode == 0, built.stderr
    missing = asked() - HAS
    points = json.loads(report.stdout)["points"]
    assert {each["point"] for each in points if _stops(each)} == missing
    assert f"incomplete: {len(missing)} required points missing" in built.stderr
    assert refused.returncode == 1
    assert "PASSPORT_INCOMPLETE" in refused.stderr
    assert not db.run("SELECT FROM passport_versions WHERE status = 'ACTIVE'")


def _stops(point: dict[str, str]) -> bool:
    is_asked = point["gate"] == "stop" and point["standing"] in {"required", "condition_unknown"}
    return is_asked and point["state"] in {"missing", "unread"}
