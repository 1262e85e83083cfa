"""The API's own description, OpenAPI 3.1: made of the table of routes and their types."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from bpc_worker import __version__
from bpc_worker.web.api.described import JSON, KEY_HEADER, PREFER_HEADER, ApiRoute
from bpc_worker.web.layer.problems import MEDIA_TYPE, Problem

_REF: Final = "#/components/schemas/{name}"
_PLACE = re.compile(r"\{(\w+)\}")
_BINARY: Final = {"type": "string", "contentEncoding": "binary"}
_REASONS: Final = {200: "As asked.", 201: "Made.", 202: "Taken: workers go on with it.", 204: "Done."}
_HEADERS: Final = {
    KEY_HEADER: "A word of your own, say a UUID: the same call with the same word takes effect once, and is "
    "answered as it was. Kept for a day.",
    PREFER_HEADER: "`wait=30`: answer when it has ended, or after so many seconds; at most 60.",
}


def document(routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """Of all of them. The same routes are the same document."""
    types = list(dict.fromkeys(_types(routes)))
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    asked_for = {kind.__name__ for kind in types if kind in _queries(routes)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bpc-worker",
            "version": __version__,
            "description": "Documents in, signed battery passports out. Errors are problems (RFC 9457) with "
            "a code and the next step. Lists have `next`, an opaque word for `after`. Answers have an ETag.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {name: each for name, each in sorted(components.items()) if name not in asked_for},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(routes: Sequence[ApiRoute]) -> Iterator[Any]:
    yield Problem
    for route in routes:
        for kind in (route.body, route.query, route.answers, *route.takes.values(), *route.gives.values()):
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                yield kind


def _queries(routes: Sequence[ApiRoute]) -> set[type]:
    return {route.query for route in routes if route.query is not None}


def _operation(route: ApiRoute, components: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": _name(route),
        "summary": route.says,
        "tags": [route.about],
        "parameters": [*_parameters(route, components)],
        "responses": _responses(route),
    }
    bodies = _bodies(route)
    if bodies:
        needed = route.body is not bytes or not _may_be_empty(route)
        found["requestBody"] = {"required": needed, "content": bodies}
    if route.lock.scope is None:
        found["security"] = []
    else:
        found["description"] = f"Needs the scope `{route.lock.scope}`."
    return found


def _name(route: ApiRoute) -> str:
    """get_v1_passports_id_versions_v_qr_svg"""
    words = re.findall(r"[A-Za-z0-9]+", route.path)
    return "_".join([route.method.lower(), *words])


def _parameters(route: ApiRoute, components: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in _PLACE.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    if route.query is not None:
        known = components[route.query.__name__]
        for name, schema in known["properties"].items():
            told = {key: each for key, each in schema.items() if key not in {"description", "default"}}
            parameter = {"name": name, "in": "query", "schema": _without_null(told)}
            if "description" in schema:
                parameter["description"] = schema["description"]
            if name in known.get("required", ()):
                parameter["required"] = True
            yield parameter
    heeded = dict(route.headers)
    if route.method == "POST":
        heeded[KEY_HEADER] = _HEADERS[KEY_HEADER]
    if route.waits:
        heeded[PREFER_HEADER] = _HEADERS[PREFER_HEADER]
    for name, says in heeded.items():
        schema = {"type": "string"}
        if name == KEY_HEADER:
            schema["pattern"] = "^[!-~]{1,255}$"
        yield {"name": name, "in": "header", "description": says, "schema": schema}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or not; there is no null in an address."""
    kinds = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    if not kinds:
        return schema
    rest = {key: each for key, each in schema.items() if key != "anyOf"}
    return rest | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


def _bodies(route: ApiRoute) -> dict[str, Any]:
    if route.takes:
        return {media_type: {"schema": _schema(kind)} for media_type, kind in route.takes.items()}
    return {} if route.body is None else {JSON: {"schema": _schema(route.body)}}


def _may_be_empty(route: ApiRoute) -> bool:
    """One of whose members none is needed."""
    kinds = [
        kind for kind in route.takes.values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    ]
    return len(kinds) == 1 and not any(each.required for each in msgspec.structs.fields(kinds[0]))


def _responses(route: ApiRoute) -> dict[str, Any]:
    gives = dict(route.gives) or {JSON: route.answers}
    content = {media_type: {"schema": _schema(kind)} for media_type, kind in gives.items()}
    found: dict[str, Any] = {
        str(status): {"description": _REASONS[status], "content": content} for status in route.statuses
    }
    if route.method == "GET":
        found["304"] = {"description": "As it was when its ETag was given."}
    problem = {MEDIA_TYPE: {"schema": _schema(Problem)}}
    refused = problem | {"text/plain": {"schema": {"type": "string"}}}
    return found | {
        "4XX": {
            "description": "It was not done, and why; as text, where it was no HTTP.",
            "content": refused,
        },
        "5XX": {"description": "It cannot be done at the moment.", "content": problem},
    }


def _schema(kind: Any) -> dict[str, Any]:
    if kind is bytes:
        return dict(_BINARY)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {"$ref": _REF.format(name=kind.__name__)}
    return {} if kind in {Any, None} else msgspec.json.schema(kind)
