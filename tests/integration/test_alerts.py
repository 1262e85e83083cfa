"""The alerts that we ship: what promtool says of them; they speak of metrics and pages that exist."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from bpc_worker.observability.metrics import Metrics
from tests.support.promtool import promtool
from tests.support.rabbitmq import or_skip

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]


def said(*arguments: str) -> str:
    done = subprocess.run(
        [or_skip(promtool), *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_takes_the_rules_and_their_tests_pass() -> None:
    assert f"{len(RULES)} rules found" in said("check", "rules", "alerts.yaml")
    assert "SUCCESS" in said("test", "rules", "alerts_test.yaml")


def test_every_alert_is_tried_where_it_fires_and_where_it_does_not() -> None:
    tests = yaml.safe_load((FOLDER / "alerts_test.yaml").read_text())["tests"]
    tried = [each for test in tests for each in test["alert_rule_test"]]
    names = {rule["alert"] for rule in RULES}

    assert {each["alertname"] for each in tried if each.get("exp_alerts")} == names
    assert {each["alertname"] for each in tried if not each.get("exp_alerts")} == names


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_speaks_of_metrics_and_pages_that_are_there(rule: dict[str, object]) -> None:
    known = {family.name for family in Metrics().registry.collect()}
    named = set(re.findall(r"bpc_\w+", str(rule["expr"])))
    annotations = rule["annotations"]
    assert isinstance(annotations, dict)
    page, _, anchor = str(annotations["runbook_url"]).partition("#")
    titles = re.findall(r"^## (\w+)$", (ROOT / page).read_text(), re.MULTILINE)

    assert named
    assert {name.removesuffix("_total") for name in named} <= known
    assert {"summary", "description"} <= annotations.keys()
    assert anchor == str(rule["alert"]).lower()
    assert rule["alert"] in titles
