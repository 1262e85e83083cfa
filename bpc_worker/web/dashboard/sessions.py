"""A browser shows a token once, and is known by a cookie from then on."""

from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Annotated, Final

import msgspec

from bpc_worker.domain.tokens import hash_of
from bpc_worker.web.layer.answers import Answer, Page, SeeOther
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import OPEN, Lock, Route
from bpc_worker.web.locks.credentials import SESSION_COOKIE, cookie_name, cookies_of, session_hash, set_cookie
from bpc_worker.web.parts import Parts

SIGN_IN: Final = "/session"
_SECONDS: Final = 12 * 3600
_CHANGES: Final = Lock(None, changes=True)


class ShownToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    token: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]


class SignIn(msgspec.Struct, frozen=True):
    failed: bool


class SignOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


def session_routes(parts: Parts) -> Sequence[Route]:
    async def show(request: Request) -> Answer:
        if request.identity.is_known:
            return SeeOther("/")
        return Page("dashboard/sign_in.html", SignIn(failed=False))

    async def begin(request: Request) -> Answer:
        hashed = hash_of(request.given(ShownToken).token.strip())
        session, scheme = token_urlsafe(32), request.origin.scheme
        is_good = hashed is not None and await parts.tokens.begin_session(
            hashed, session_hash(session), _SECONDS
        )
        if not is_good:
            return Page("dashboard/sign_in.html", SignIn(failed=True), status=403)
        return SeeOther("/", cookies=(set_cookie(SESSION_COOKIE, session, scheme=scheme, seconds=_SECONDS),))

    async def end(request: Request) -> Answer:
        scheme = request.origin.scheme
        session = cookies_of(request.headers).get(cookie_name(SESSION_COOKIE, scheme))
        if session is not None:
            await parts.tokens.end_session(session_hash(session))
        return SeeOther(SIGN_IN, cookies=(set_cookie(SESSION_COOKIE, "", scheme=scheme, seconds=0),))

    return (
        Route("GET", SIGN_IN, show, OPEN, says="The page on which a person shows a token."),
        Route("POST", SIGN_IN, begin, _CHANGES, body=ShownToken, says="Begins a session of a browser."),
        Route("POST", f"{SIGN_IN}/end", end, _CHANGES, body=SignOut, says="Ends it."),
    )
