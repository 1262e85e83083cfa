"""A page by its keyboard alone: what Tab does not reach and a mouse does, or what does not show the focus."""

from dataclasses import dataclass

from playwright.sync_api import Page

# What a mouse could use, each with a number of its own; of a group of radio buttons Tab stops at one.
_CLICKABLE = """
() => {
  const seen = new Set(), groups = new Set();
  const all = document.querySelectorAll(
    'a[href], button, input, select, textarea, summary, [tabindex], [contenteditable], [role=button]');
  let number = 0;
  for (const one of all) {
    if (one.disabled || one.type === 'hidden' || one.tabIndex < 0 && !one.hasAttribute('role')) continue;
    if (!one.checkVisibility({visibilityProperty: true})) continue;
    if (one.type === 'radio') {
      const group = one.name + (one.form ? one.form.id + one.form.action : '');
      if (groups.has(group)) continue;
      groups.add(group);
      const others = document.querySelectorAll(`input[type=radio][name="${one.name}"]`);
      for (const other of others) other.dataset.at = number;
    }
    one.dataset.at = number;
    seen.add(number++);
  }
  return [...seen].map(at => document.querySelector(`[data-at="${at}"]`).outerHTML.slice(0, 120));
}
"""
_FOCUSED = """
() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  return {
    at: one.dataset.at === undefined ? -1 : Number(one.dataset.at),
    html: one.outerHTML.slice(0, 120),
    shows: (outlined || style.boxShadow !== 'none') && box.width > 0 && box.height > 0
      && box.bottom > 0 && box.top < innerHeight,
  };
}
"""
_SPARE = 5


@dataclass(frozen=True)
class Walk:
    missed: list[str]  # can be clicked, and Tab never came there
    unseen: list[str]  # had the focus, and did not show it


def walk(page: Page) -> Walk:
    """From the top of the page with Tab, until every stop was made."""
    clickable = page.evaluate(_CLICKABLE)
    page.evaluate("() => { document.activeElement && document.activeElement.blur(); scrollTo(0, 0); }")
    reached: set[int] = set()
    unseen: list[str] = []
    for _ in range(len(clickable) + _SPARE):
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        if focused is None:
            continue
        reached.add(focused["at"])
        if not focused["shows"]:
            unseen.append(focused["html"])
    missed = [html for at, html in enumerate(clickable) if at not in reached]
    return Walk(missed, [*dict.fromkeys(unseen)])
