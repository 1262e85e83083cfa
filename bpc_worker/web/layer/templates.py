"""Templates of pages: everything is escaped, and what is not there is an error."""

from base64 import urlsafe_b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from bpc_worker.web.layer.answers import Answer, Page, Raw
from bpc_worker.web.layer.languages import all_languages, choose
from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Route

if TYPE_CHECKING:
    import jinja2

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_MEDIA_TYPES: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("bpc_worker.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["languages"] = tuple(all_languages())
    return made


def render(page: Page, request: Request) -> bytes:
    """The template knows `page`, `text(name, …)`, `lang`, `base` (path), `static(file)`, `csrf`, `who`."""
    language = choose(request.languages)
    prefix = request.origin.prefix
    return (
        _environment()
        .get_template(page.template)
        .render(
            page=page.record,
            text=language.text,
            lang=language.tag,
            base=prefix,
            static=lambda name: f"{prefix}/static/{_static(name)[0]}/{name}",
            csrf=request.csrf,
            who=request.identity,
            request=request,
        )
        .encode()
    )


@cache
def _static(name: str) -> tuple[str, bytes]:
    """A hash of the file, and the file."""
    body = (files("bpc_worker.web") / "static" / name).read_bytes()
    return urlsafe_b64encode(sha256(body).digest()[:9]).decode(), body


@cache
def _static_names() -> frozenset[str]:
    return frozenset(each.name for each in (files("bpc_worker.web") / "static").iterdir() if each.is_file())


async def _show_static(request: Request) -> Answer:
    name = request.path_args["name"]
    if name not in _static_names() or _static(name)[0] != request.path_args["hash"]:
        raise Refused(404, "NOT_FOUND", "there is nothing at this address")
    return Raw(_static(name)[1], _MEDIA_TYPES[name.rpartition(".")[2]], cache=_FOR_EVER)


STATIC: Final = Route(
    "GET", "/static/{hash}/{name}", _show_static, OPEN, says="The style sheet and the script."
)
