"""A person at the dashboard without JavaScript: signs in, and sends forms as they stand on a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode

from tests.support.serving import Answer, Serving

HTML = "text/html,application/xhtml+xml"


@dataclass
class Form:
    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)


class Parsed(HTMLParser):
    """Forms with their fields, buttons with where they lead, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: dict[str, Form] = {}
        self.links: list[str] = []
        self.buttons: list[str] = []  # where they send the form of the page to
        self._form: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = found.get("id") or found.get("action", "")
            self.forms[self._form] = Form(found.get("action", ""))
        elif tag == "input" and found.get("type") == "hidden" and self._form is not None:
            self.forms[self._form].fields.append((found["name"], found.get("value", "")))
        elif tag == "a":
            self.links.append(found.get("href", ""))
        elif tag == "button" and "formaction" in found:
            self.buttons.append(found["formaction"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None


@dataclass
class Person:
    serving: Serving
    token: str
    cookie: str = ""

    def sign_in(self) -> "Person":
        answer = self.send("/session", {"token": self.token})
        assert answer.status == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def get(self, path: str, **headers: str) -> Answer:
        return self.serving.ask("dashboard", path, headers=self._headers() | headers)

    def page(self, path: str) -> Parsed:
        answer = self.get(path)
        assert answer.status == 200, (path, answer.status, answer.text[:500])
        return Parsed(answer.text)

    def send(self, path: str, fields: Mapping[str, str] | list[tuple[str, str]], **headers: str) -> Answer:
        port = self.serving.door_port("dashboard")
        known = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Sec-Fetch-Site": "same-origin",
            "Origin": f"http://127.0.0.1:{port}",
        }
        return self.serving.ask(
            "dashboard",
            path,
            method="POST",
            body=urlencode(fields),
            headers=self._headers() | known | headers,
        )

    def press(self, page: str, button: str, **more: str | list[str]) -> Answer:
        """The button of a page that sends its form there, with what was ticked."""
        found = self.page(page)
        assert button in found.buttons, found.buttons
        ticked = [(name, each) for name, value in more.items() for each in _listed(value)]
        return self.send(button, [*found.forms["acts"].fields, *ticked])

    def fill(self, page: str, action: str, **more: str) -> Answer:
        """The form of a page with that action, as it stands there, and what is written into it."""
        found = self.page(page).forms[action]
        return self.send(action, [*found.fields, *more.items()])

    def _headers(self) -> dict[str, str]:
        return {"Accept": HTML} | ({"Cookie": self.cookie} if self.cookie else {})


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def asked(query: str) -> dict[str, str]:
    return dict(parse_qsl(query))
