"""The sections of the settings for HTTP: probes, and the doors that `bpc-worker serve` opens."""

from collections.abc import Mapping
from typing import Annotated

from bpc_worker.config import kinds, maps
from bpc_worker.config.keys import section, setting

_MIB = 1024 * 1024
_postgres = kinds.url("postgresql", "postgres", libpq=True)
_port = kinds.whole(0, 65535)


@section
class Http:
    host: Annotated[str, setting(kinds.text(255), "address of probes and metrics")] = "127.0.0.1"
    port: Annotated[int, setting(_port, "port of probes and metrics; 0: any free one")] = 8080
    base_path: Annotated[
        str, setting(kinds.base_path, "path below which all doors are, where something else is at /")
    ] = ""
    trusted_proxies: Annotated[
        tuple[str, ...], setting(kinds.cidrs, "networks of proxies whose X-Forwarded-… headers are believed")
    ] = ()
    identity_header: Annotated[
        str | None,
        setting(kinds.header, "header in which a trusted proxy names who asks, like X-Forwarded-User"),
    ] = None
    groups_header: Annotated[
        str, setting(kinds.header, "header in which it lists his groups, separated by commas")
    ] = "X-Forwarded-Groups"
    groups: Annotated[
        Mapping[str, tuple[str, ...]], setting(maps.groups, "what the members of a group may do at the doors")
    ] = {}
    database_connections: Annotated[
        int, setting(kinds.whole(1, 100), "connections of the doors to each database, per process")
    ] = 8
    page_seconds: Annotated[
        float, setting(kinds.number(0.1, 3600), "limit of one statement for a page or an answer")
    ] = 10
    connections: Annotated[
        int, setting(kinds.whole(1, 100_000), "open connections to one door; then the oldest idle one goes")
    ] = 1000
    head_seconds: Annotated[
        float, setting(kinds.number(0.1, 600), "until the head of a request has come")
    ] = 10
    body_seconds: Annotated[
        float,
        setting(kinds.number(0.1, 600), "until its body has begun to come, and 16 kB a second from then"),
    ] = 20
    requests_per_second: Annotated[
        float, setting(kinds.number(0.1, 1_000_000), "requests of one address to the doors of a process")
    ] = 50
    requests_burst: Annotated[
        float, setting(kinds.number(1, 1_000_000), "requests of one address that may come at once")
    ] = 200
    token_requests_per_second: Annotated[
        float, setting(kinds.number(0.1, 1_000_000), "requests of one token or person, likewise")
    ] = 50
    token_requests_burst: Annotated[
        float, setting(kinds.number(1, 1_000_000), "requests of one token or person that may come at once")
    ] = 200


@section
class Public:
    host: Annotated[str, setting(kinds.text(255), "address of the public door")] = "127.0.0.1"
    port: Annotated[int, setting(_port, "port of the public door; 0: any free one")] = 8081
    database_url: Annotated[
        str | None,
        setting(
            _postgres,
            "the database for the public door: a login of bpc_public; without one, that of the other doors",
            env="BPC_PUBLIC_DATABASE_URL",
            secret=True,
        ),
    ] = None
    loopback_host: Annotated[
        str | None,
        setting(
            kinds.text(100), "host whose passports are shown at 127.0.0.1 and localhost, to try the door"
        ),
    ] = None
    kept_seconds: Annotated[
        float, setting(kinds.number(0.1, 60), "for how long an answer may be kept, here and by others")
    ] = 60
    stale_seconds: Annotated[
        float,
        setting(kinds.number(1, 86_400), "for how long passports are shown while the database is away"),
    ] = 900
    misses_per_second: Annotated[
        float,
        setting(kinds.number(0.01, 1_000_000), "batteries without a passport that an address may ask for"),
    ] = 0.5
    misses_burst: Annotated[
        float, setting(kinds.number(1, 1_000_000), "likewise, at once; of one model ten times as many")
    ] = 30


@section
class Api:
    host: Annotated[
        str, setting(kinds.text(255), "address of the API, and of the standard read interface")
    ] = "127.0.0.1"
    port: Annotated[int, setting(_port, "port of both; 0: any free one")] = 8082


@section
class Dashboard:
    host: Annotated[str, setting(kinds.text(255), "address of the dashboard")] = "127.0.0.1"
    port: Annotated[int, setting(_port, "port of the dashboard; 0: any free one")] = 8083


@section
class Web:
    database_url: Annotated[
        str | None,
        setting(
            _postgres,
            "the database for API and dashboard: a login of bpc_web; without one, `database.url`",
            env="BPC_WEB_DATABASE_URL",
            secret=True,
        ),
    ] = None
