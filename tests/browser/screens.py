"""Pictures of the pages for the docs: `make screens`.

A town of four makers with the demo's batteries and a night of generated jobs; each page in light and dark,
on a desk and on a phone. A page that complains, or a picture that is too large, ends it.
"""

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import NAMES, opened
from tests.browser.signing_in import EVERYTHING, origin_of, sign_in
from tests.browser.visitor import DESK, PHONE, Visitor, visiting
from tests.support import chromium
from tests.support import database as databases
from tests.support.full_size import jobs, webhooks
from tests.support.serving import Serving, token
from tests.support.town import Town, town

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
MOST_BYTES, MOST_TOGETHER = 60_000, 1_500_000
_COLOURS = 40
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    with databases.postgres(databases.NO_FSYNC, in_memory=True) as server:
        databases.make_template(server)
        with town(server) as made:
            made.db.run("DELETE FROM workers")  # of the one that built the town
            jobs.fill(made.db, 4000)
            webhooks.fill(made.db, 60)
            made.db.run("ANALYZE")
            with opened(made.db) as doors, sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium.find(), args=[*chromium.FLAGS, NAMES]
                )
                draw(browser, doors, made, folder)
                browser.close()
    sizes = {each.name: each.stat().st_size for each in folder.glob("*.png")}
    large = {name: size for name, size in sizes.items() if size > MOST_BYTES}
    print(f"{len(sizes)} pictures, {sum(sizes.values()):,} bytes; too large: {large or 'none'}")
    return 1 if large or sum(sizes.values()) > MOST_TOGETHER else 0


def draw(browser: Browser, doors: Serving, made: Town, folder: Path) -> None:
    secret = token(made.db, *EVERYTHING, name="mira")
    own, shared = dashboard_pages(doors, made, secret), public_pages(made)
    for light in ("light", "dark"):
        for place, size in (("desk", DESK), ("phone", PHONE)):
            look = f"{place}-{light}"
            dark = light == "dark"
            with visiting(browser, origin_of(doors, "dashboard"), dark=dark, size=size) as visitor:
                visitor.goto("/session")
                picture(visitor, folder / f"sign-in-{look}.png")
                sign_in(visitor, secret)
                for name, address in own.items():
                    assert visitor.goto(address) == 200
                    picture(visitor, folder / f"{name}-{look}.png")
            with visiting(browser, origin_of(doors, "public", made.ev.host), dark=dark, size=size) as visitor:
                for name, address in shared.items():
                    assert visitor.goto(address) == 200
                    picture(visitor, folder / f"{name}-{look}.png")


def dashboard_pages(doors: Serving, made: Town, secret: str) -> Mapping[str, str]:
    body = f"act=retry&code=CHILD_DIED&before={quote('2099-01-01T00:00:00Z')}&counted=1"
    asked = doors.ask("dashboard", "/bulk", method="POST", body=body, headers=_FORM, token=secret)
    dead = made.db.one("SELECT job_id FROM jobs WHERE status = 'DEAD_LETTER' ORDER BY job_id DESC LIMIT 1")
    return {
        "now": "/",
        "dead": "/dead",
        "confirm": "/dead/confirm?act=retry&code=WEBHOOK_FAILED",
        "bulk": asked.headers["location"],
        "job": f"/jobs/{dead['job_id']}",
        "pipeline": "/pipeline",
        "build": f"/builds/{made.stopped}",
        "passports": "/passports",
        "passport": f"/passports/{made.ev.version}",
        "number": f"/passports/{made.ev.version}?field=performance.energy",
        "webhooks": "/webhooks",
        "fleet": "/fleet",
    }


def public_pages(made: Town) -> Mapping[str, str]:
    path = urlsplit(made.ev.identifier).path
    return {"public": path, "public-de": f"{path}?lang=de"}


def picture(visitor: Visitor, file: Path) -> None:
    """What is in the window, in few colours."""
    drawn = Image.open(io.BytesIO(visitor.page.screenshot())).convert("RGB")
    drawn.quantize(_COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
