"""How connections to PostgreSQL are made: address, limits on both ends, and the settings of a session."""

from dataclasses import dataclass, replace

from psycopg.conninfo import make_conninfo

from bpc_worker.postgres.errors import read_url

# The engine's statements all have an index to use, and one plan that is right for any table: a plan made
# while the table was young would scan it, a plan per call costs as much as the call, and PostgreSQL 15 would
# compile the larger statements for a second.
_ENGINE_OPTIONS = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
_LONGEST_NAME = 63
_JUST_BELOW = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Dsn:
    """How connections are made: the address, and the limits that hold on both ends."""

    url: str
    application_name: str
    connect_timeout: float = 5.0
    statement_timeout: float = 30.0
    lock_timeout: float = 5.0
    idle_in_transaction_timeout: float = 30.0
    prepared_statements: bool = True  # off behind pgbouncer, which also refuses session settings
    engine: bool = False  # the worker's own statements, as opposed to handlers'
    suppress_insert_notify: bool = False  # who inserts jobs here rings the bell himself
    writable: bool = True  # False: a replica will do

    def conninfo(self) -> str:
        given = read_url(self.url)
        wanted: dict[str, str | int] = {
            "application_name": self.application_name[:_LONGEST_NAME],
            "connect_timeout": max(2, round(self.connect_timeout)),
            "target_session_attrs": "read-write" if self.writable else "any",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 30_000,
        }
        found = {name: value for name, value in wanted.items() if name not in given}
        if self.prepared_statements:  # ours first: what the URL sets by itself has the last word
            found["options"] = f"{self._options()} {given.get('options') or ''}".strip()
        return make_conninfo(self.url, **found)

    @property
    def connect_seconds(self) -> float:
        """In all: a silent host must not use up the time of the one behind it."""
        hosts = str(read_url(self.url).get("host") or "").count(",") + 1
        return self.connect_timeout * hosts

    def _limits(self) -> dict[str, int | str]:
        seconds = {
            "statement_timeout": self.statement_timeout,
            "lock_timeout": self.lock_timeout,
            "idle_in_transaction_session_timeout": self.idle_in_transaction_timeout,
        }
        return {name: round(value * 1000) for name, value in seconds.items()}

    def _chosen(self) -> dict[str, int | str]:
        chosen = _ENGINE_OPTIONS if self.engine else {}
        return self._limits() | chosen | ({"bpc.quiet": "on"} if self.suppress_insert_notify else {})

    def _options(self) -> str:
        kept = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10}
        return " ".join(f"-c {name}={value}" for name, value in (self._chosen() | kept).items())

    def local_settings(self, mark: str) -> dict[str, str]:
        """The same for one transaction, where a session cannot have any (pgbouncer); known by its `mark`."""
        if self.prepared_statements:
            return {}
        return {name: str(value) for name, value in self._chosen().items()} | {"application_name": mark}

    def marked(self, number: int) -> str:
        """The name of this application, told apart from all others of this process."""
        mark = f" #{number}"
        return self.application_name[: _LONGEST_NAME - len(mark)] + mark

    def for_answers_within(self, seconds: float) -> "Dsn":
        """The server gives up just before we do, so that we hear of it, and nothing is done for nobody."""
        return replace(self, statement_timeout=min(self.statement_timeout, seconds * _JUST_BELOW))
