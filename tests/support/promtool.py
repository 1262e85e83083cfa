"""Prometheus' own opinion of what we write: `promtool`, of Debian's package `prometheus`."""

import shutil
import subprocess

from tests.support.rabbitmq import Unavailable, install_package, or_skip


def promtool() -> str:
    """Where it is; as root on Debian it is installed when it is missing."""
    found = shutil.which("promtool")
    if found is None:
        log = install_package("prometheus", "prometheus.service", "prometheus-node-exporter.service")
        found = shutil.which("promtool")
        if found is None:
            raise Unavailable(f"prometheus could not be installed:\n{log[-4000:]}")
    return found


def objections(written: str) -> str:
    """What `promtool check metrics` says; nothing, when it agrees. Skips the test where none can be had."""
    done = subprocess.run(
        [or_skip(promtool), "check", "metrics"], input=written, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    return said or ("" if done.returncode == 0 else f"it ended with code {done.returncode}")
