"""Pages of lists: where the next one begins is an opaque word that means the same whenever it is asked."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

import msgspec

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.web.api.shown import plain
from bpc_worker.web.layer.answers import Data
from bpc_worker.web.layer.request import Request

T = TypeVar("T")

PAGE = 100
Limit = Annotated[int, msgspec.Meta(ge=1, le=1000, description="How many at most.")]
After = Annotated[str, msgspec.Meta(max_length=1000, description="`next` of the page before.")]


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Limit = PAGE
    after: After | None = None

    def behind(self, of: str, kind: type[T]) -> T | None:
        """The key of the last one seen. Another list's word is refused, and so is what is none."""
        if self.after is None:
            return None
        try:
            padded = self.after + "=" * (-len(self.after) % 4)
            name, key = msgspec.json.decode(urlsafe_b64decode(padded.encode("ascii")), type=tuple[str, Any])
            found = msgspec.convert(key, kind)
        except (ValueError, msgspec.DecodeError) as error:  # UnicodeEncodeError is one
            raise _no_cursor() from error
        if name != of:
            raise _no_cursor()
        return found


def _no_cursor() -> Permanent:
    return Permanent(Code.VALIDATION_ERROR, "after: it is no `next` of this list")


def page(of: str, query: PageQuery, found: Sequence[T], key: Callable[[T], object], request: Request) -> Data:
    """Of one more than were asked for, if there are more."""
    shown = found[: query.limit]
    word = cursor(of, key(shown[-1])) if len(found) > query.limit else None
    return Data({"items": plain(shown), "next": word}, headers=_link(query, word, request))


def _link(query: PageQuery, word: str | None, request: Request) -> dict[str, str]:
    """To the next page, with the filters of this one."""
    if word is None:
        return {}
    asked = {**msgspec.to_builtins(query), "after": word}
    said = urlencode({name: each for name, each in asked.items() if each is not None})
    return {"Link": f'<{request.origin.prefix}{request.path}?{said}>; rel="next"'}


def cursor(of: str, key: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode((of, key))).decode().rstrip("=")
