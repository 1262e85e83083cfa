"""The door of the standard read interface: on the listener of the API."""

from bpc_worker.web.layer.routes import Door
from bpc_worker.web.parts import Parts


def dpp_door(parts: Parts) -> Door:  # noqa: ARG001 - its routes will ask the database
    return Door(name="dpp", routes=(), cache="private, no-cache")
