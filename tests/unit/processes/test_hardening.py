"""A process that has read its secrets keeps them to itself, whoever starts programs in it."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, json, os, resource, subprocess, sys
from bpc_worker.cli._common.startup import keep_secrets, load_settings
try: load_settings(None)
except Exception: pass  # with such secrets they are not valid
dumpable = ctypes.CDLL(None).prctl(3)
keep_secrets()
inherited = subprocess.run(["env"], capture_output=True, text=True).stdout
print(json.dumps({"inherited": inherited, "core": resource.getrlimit(resource.RLIMIT_CORE),
                  "dumpable": dumpable}))
"""
SECRETS = [
    "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64",
    "BPC_SIGNING_FORMER_KEYS",
    "BPC_SIGNING_COMMAND",
    "BPC_DISCLOSURE_KEY",
    "BPC_DATABASE_URL",
    "BPC_DB_PASSWORD",
    "BPC_QUEUE_URL",
    "DATABASE_URL",
]


@pytest.fixture(scope="module")
def told() -> dict[str, object]:
    env = os.environ | dict.fromkeys(SECRETS, "hunter2") | {"BPC_SIGNING_KEY_ID": "not a secret"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, object] = json.loads(ran.stdout)
    return found


def test_programs_that_are_started_inherit_no_secret(told: dict[str, object]) -> None:
    assert "hunter2" not in str(told["inherited"])
    assert "BPC_SIGNING_KEY_ID=not a secret" in str(told["inherited"])


def test_no_core_is_left(told: dict[str, object]) -> None:
    assert told["core"] in ([0, 0], [1, 1])


def test_nobody_looks_into_a_process_that_has_read_its_secrets(told: dict[str, object]) -> None:
    assert told["dumpable"] == 0
