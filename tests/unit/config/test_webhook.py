"""Where webhooks may go, as the operator says it; and what production refuses."""

from pathlib import Path

import pytest

from bpc_worker.config.load import describe, load
from tests.support.certificates import Authority
from tests.support.configuration import file, problem

PROD = {"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql://u@localhost/d"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_by_default_webhooks_go_to_port_443_of_public_addresses() -> None:
    webhook = load(env={}).webhook

    assert (webhook.ports, webhook.allow_cidrs, webhook.ca_file) == ((443,), (), None)


def test_ports_and_networks_come_as_lists_or_with_commas() -> None:
    told = {"BPC_WEBHOOK_PORTS": "443, 8443", "BPC_WEBHOOK_ALLOW_CIDRS": "10.1.0.0/16,fd00::/8"}
    in_yaml = file("webhook: {ports: [443, 8443], allow_cidrs: [10.1.0.0/16, 'fd00::/8']}")

    for settings in (load(env=told), load(env={}, config_path=in_yaml)):
        assert settings.webhook.ports == (443, 8443)
        assert settings.webhook.allow_cidrs == ("10.1.0.0/16", "fd00::/8")
    shown = {name: value for name, value, _ in describe(load(env=told))}
    assert shown["webhook.ports"] == "443, 8443"


@pytest.mark.parametrize("value", ["0", "65536", "https", "443,,80", "-443"])
def test_what_is_no_port_is_refused(value: str) -> None:
    text = problem({"BPC_WEBHOOK_PORTS": value})

    assert "BPC_WEBHOOK_PORTS" in text
    assert "whole numbers from 1 to 65535" in text


@pytest.mark.parametrize("value", ["10.0.0.1/8", "10.0.0.0/33", "localhost", "::/129"])
def test_what_is_no_network_is_refused(value: str) -> None:
    assert "networks like 10.1.0.0/16" in problem({"BPC_WEBHOOK_ALLOW_CIDRS": value})


def test_production_opens_no_holes() -> None:
    text = problem(PROD | {"BPC_WEBHOOK_ALLOW_CIDRS": "10.0.0.0/8"})

    assert "public addresses only" in text
    assert "BPC_WEBHOOK_ALLOW_CIDRS" in text


REASON = {"BPC_WEBHOOK_ALLOW_CIDRS_REASON": "our ERP listens in 10.1.0.0/16"}


def test_production_opens_a_hole_for_a_reason() -> None:
    webhook = load(env=PROD | REASON | {"BPC_WEBHOOK_ALLOW_CIDRS": "10.1.0.0/16"}).webhook

    assert (webhook.allow_cidrs, webhook.allow_cidrs_reason) == (("10.1.0.0/16",), *REASON.values())


def test_a_file_of_authorities_is_read_before_anything_starts() -> None:
    here = Path.cwd()
    (here / "empty.pem").write_text("nothing")

    assert load(env={"BPC_WEBHOOK_CA_FILE": str(Authority(here).ca_file)}).webhook.ca_file is not None
    assert "No such file" in problem({"BPC_WEBHOOK_CA_FILE": str(here / "gone.pem")})
    assert "no certificates in PEM" in problem({"BPC_WEBHOOK_CA_FILE": str(here / "empty.pem")})
    assert "absolute path" in problem({"BPC_WEBHOOK_CA_FILE": "ca.pem"})
