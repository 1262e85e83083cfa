"""What axe-core finds on a page that keeps somebody out."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_KEEPS_OUT = {"serious", "critical"}


def barriers(page: Page) -> list[str]:
    """Each with the first element that it is about. axe runs past the page's policy, as a devtool."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: {each['nodes'][0]['html']}"
        for each in found
        if each["impact"] in _KEEPS_OUT
    ]
