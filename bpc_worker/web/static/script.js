// The page moves while nobody is busy with it. Everything here is also done without it, but for what is live.
"use strict";
(() => {
  const moves = document.getElementById("moves");
  const state = document.getElementById("state");
  let newest = null; // what came while somebody was busy

  const say = (name) => { if (state) state.textContent = state.dataset[name] || ""; };
  const busy = () => {
    const at = document.activeElement;
    const types = at && moves.contains(at) && at.matches("input:not([type=checkbox]), select, textarea");
    const marks = String(window.getSelection() || "") !== "" && moves.contains(window.getSelection().anchorNode);
    return Boolean(types || marks || moves.querySelector("input:checked"));
  };
  const keyOf = (at) => {
    if (!at || !moves.contains(at)) return null;
    const name = at.id ? "#" + at.id : at.getAttribute("href") || at.getAttribute("formaction") || at.value;
    return name ? [at.tagName, name] : null;
  };
  const draw = (html) => {
    const key = keyOf(document.activeElement);
    const open = [...moves.querySelectorAll("details")].map((each) => each.open);
    const shifts = [...moves.querySelectorAll(".scroll, pre")].map((each) => each.scrollLeft);
    moves.innerHTML = html;
    [...moves.querySelectorAll("details")].forEach((each, n) => { each.open = open[n] || false; });
    [...moves.querySelectorAll(".scroll, pre")].forEach((each, n) => { each.scrollLeft = shifts[n] || 0; });
    if (key) { // whoever goes by keyboard stays where he is
      const same = [...moves.querySelectorAll(key[0])].find((each) => {
        const name = each.id ? "#" + each.id : each.getAttribute("href") || each.getAttribute("formaction") || each.value;
        return name === key[1];
      });
      if (same) same.focus({ preventScroll: true });
    }
    copyable();
  };
  const settle = () => {
    if (newest === null) return;
    if (busy()) { say("paused"); return; }
    draw(newest);
    newest = null;
    say("live");
  };
  const copyable = () => {
    for (const button of document.querySelectorAll("button[data-copy][hidden]")) {
      button.hidden = false;
      button.setAttribute("aria-label", button.textContent + ": " + button.previousElementSibling.textContent);
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const code = button.previousElementSibling;
    const marked = () => { // where there is no clipboard, at least it is marked
      const range = document.createRange();
      range.selectNodeContents(code);
      const found = window.getSelection();
      found.removeAllRanges();
      found.addRange(range);
      document.execCommand("copy");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).catch(marked); else marked();
    button.textContent = "✓";
  });
  copyable();
  if (!moves || !window.EventSource) return;
  const base = document.querySelector("form[role=search]").getAttribute("action").replace(/\/search$/, "");
  const at = location.pathname.slice(base.length) + location.search;
  const events = new EventSource(base + "/live?at=" + encodeURIComponent(at));
  events.onopen = () => say("live");
  events.onerror = () => say("lost");
  events.onmessage = (event) => { newest = event.data; settle(); };
  document.addEventListener("focusout", () => setTimeout(settle, 0));
  document.addEventListener("change", settle);
  window.addEventListener("pagehide", () => events.close());
})();
