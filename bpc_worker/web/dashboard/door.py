"""The dashboard's door: its pages, what their buttons do, and what runs beside them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from bpc_worker.web.bulk.runner import BulkRunner
from bpc_worker.web.dashboard import (
    acting,
    bulk_page,
    dead,
    fleet,
    job,
    now,
    passport,
    passport_list,
    pipeline,
    search,
    webhooks,
)
from bpc_worker.web.dashboard.checked import Checks
from bpc_worker.web.dashboard.live import Live, Watch
from bpc_worker.web.dashboard.pace import Pace
from bpc_worker.web.dashboard.sessions import SIGN_IN, session_routes
from bpc_worker.web.layer.answers import Answer
from bpc_worker.web.layer.request import Request
from bpc_worker.web.layer.routes import Door, Route, needs
from bpc_worker.web.layer.templates import STATIC
from bpc_worker.web.parts import Parts

_READ: Final = needs("read")
_VALUES: Final = needs("values")
_OPERATE: Final = needs("operate", changes=True)
_WEBHOOKS: Final = needs("webhooks", changes=True)
_MOST_BYTES: Final = 256 * 1024

Load = Callable[[Parts, Request], Awaitable[Answer]]


def dashboard_door(parts: Parts) -> Door:
    pace, checks = Pace(parts.database), Checks()
    bulk = BulkRunner(parts.database, parts.settings.worker.id)
    moving = _moving(parts, pace, checks)
    live = Live(parts, moving)
    watch = Route("GET", "/live", live.watch, _READ, query=Watch, says="What changes on a page from now on.")
    routes = [*moving, *_resting(parts), watch, *_acts(parts, bulk), *session_routes(parts), STATIC]
    return Door(
        name="dashboard", routes=routes, pages=True, sign_in=SIGN_IN, duties=(pace.keep, live.keep, bulk.keep)
    )


def _moving(parts: Parts, pace: Pace, checks: Checks) -> list[Route]:
    """Pages that show by themselves what changes."""

    def page(path: str, load: Load, says: str, query: type | None = None) -> Route:
        return Route("GET", path, partial(load, parts), _READ, query=query, says=says)

    return [
        Route("GET", "/", partial(now.show, parts, pace), _READ, says="What waits, and what needs a person."),
        page("/dead", dead.show, "What jobs died of, cause by cause.", dead.DeadQuery),
        page("/bulk/{id}", bulk_page.show, "How far an act on many is."),
        page("/jobs/{id}", job.show, "Everything about one job, and why it does not run."),
        page("/pipeline", pipeline.show, "Builds as rows of stages.", pipeline.BuildsQuery),
        page("/builds/{id}", pipeline.show_build, "One build, and the cell that stopped it."),
        Route(
            "GET", "/passports/{id}", partial(passport.show, parts, checks), _READ,
            query=passport.PassportQuery, says="A passport version, verified now, down to the cell.",
        ),
        page("/fleet", fleet.show, "Who works, what is paused, how the upkeep stands."),
    ]  # fmt: skip


def _resting(parts: Parts) -> list[Route]:
    def page(path: str, load: Load, says: str, query: type | None = None) -> Route:
        return Route("GET", path, partial(load, parts), _READ, query=query, says=says)

    return [
        page("/dead/confirm", dead.confirm, "How many match, before anything is done.", dead.Confirm),
        Route(
            "GET", "/dead/export", partial(dead.export, parts), _VALUES,
            query=dead.Choice, says="Dead letters as a file, a line for each.",
        ),
        page("/passports", passport_list.show, "Passports, the newest first.", passport_list.PassportsQuery),
        page("/passports/{id}/code.png", passport.code, "The picture on the battery."),
        page("/webhooks", webhooks.show, "Endpoints and deliveries.", webhooks.DeliveriesQuery),
        page("/deliveries/{id}", webhooks.show_delivery, "What was sent and what was answered."),
        page("/search", search.show, "Finds jobs, passports, builds and documents.", search.Search),
    ]  # fmt: skip


def _acts(parts: Parts, bulk: BulkRunner) -> list[Route]:
    def act(path: str, do: Callable[[Request], Awaitable[Answer]], body: type, says: str) -> Route:
        return Route("POST", path, do, _OPERATE, body=body, says=says, most_bytes=_MOST_BYTES)

    ticked = acting.Ticked
    return [
        act("/jobs/{id}/retry", partial(acting.one, parts, "retry"), ticked, "Runs a dead letter again."),
        act("/jobs/{id}/discard", partial(acting.one, parts, "discard"), ticked, "Gives a dead letter up."),
        act("/jobs/{id}/cancel", partial(acting.one, parts, "cancel"), ticked, "Cancels a job."),
        act("/jobs/{id}/replay", partial(acting.one, parts, "replay"), ticked, "The same work as a new job."),
        act(
            "/jobs/{id}/mend", partial(acting.mend, parts), acting.Mend, "Mends a payload, and runs it again."
        ),
        act(
            "/dead/retry",
            partial(acting.ticked, parts, "retry"),
            ticked,
            "Runs those again that were ticked.",
        ),
        act("/dead/discard", partial(acting.ticked, parts, "discard"), ticked, "Gives those up."),
        act("/bulk", partial(acting.many, parts, bulk.wake), acting.Many, "Acts on all that match."),
        act("/bulk/{id}/stop", partial(acting.stop_many, parts), ticked, "Stops an act on many."),
        act(
            "/pauses", partial(acting.pause, parts), acting.Pause, "Stops claims of a queue, type or tenant."
        ),
        act("/pauses/end", partial(acting.resume, parts), acting.Resume, "Lets them go on."),
        *_webhook_acts(parts),
    ]


def _webhook_acts(parts: Parts) -> list[Route]:
    def act(path: str, do: Load, says: str) -> Route:
        return Route("POST", path, partial(do, parts), _WEBHOOKS, body=webhooks.Nothing, says=says)

    return [
        act("/deliveries/{id}/replay", webhooks.replay, "Sends the same bytes once more."),
        act("/endpoints/{id}/test", webhooks.send_test, "Sends a message that is no event."),
        act("/endpoints/{id}/enable", webhooks.enable, "Switches an endpoint on again."),
        act("/endpoints/{id}/rotate", webhooks.rotate, "New keys, those of now beside them for a day."),
    ]
