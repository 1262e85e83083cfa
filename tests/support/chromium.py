"""A real browser: `BPC_TEST_CHROMIUM`, an installed Chromium, or Debian's, installed now."""

import os
import shutil

from tests.support.rabbitmq import Unavailable, install_package, or_skip

# It speaks to nobody but the page's own server; Debian's runs as root only without its sandbox.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str:
    """The program."""
    known = os.environ.get("BPC_TEST_CHROMIUM") or _installed()
    if known is not None:
        return known
    log = install_package("chromium")
    found = _installed()
    if found is None:
        raise Unavailable(f"chromium could not be installed:\n{log[-4000:]}")
    return found


def _installed() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def chromium() -> str:
    """Skips the test where none can be had."""
    return or_skip(find)
