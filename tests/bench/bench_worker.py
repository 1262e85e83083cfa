"""A real worker as its users have it: the handlers of the product, and two of the bench's."""

from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.worker import Worker, worker

_SITE = Path(__file__).parent / "site"


def bench_worker(url: str, **settings: object) -> AbstractContextManager[Worker]:
    return worker(url, PYTHONPATH=_SITE, **{"BPC_LOG_LEVEL": "info", **settings})
