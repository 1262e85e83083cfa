"""Does somebody sign the lists that tell which passports are in force?"""

from collections.abc import Iterator

from bpc_worker import wiring
from bpc_worker.config.settings import Settings
from bpc_worker.doctor.findings import Finding

_NEW_KEY = """bpc-worker keys generate --key-id status-1 --out status-1.seed
export BPC_SIGNING_STATUS_KEY_ID=status-1 BPC_SIGNING_STATUS_PRIVATE_KEY_FILE="$PWD/status-1.seed\""""


def check(settings: Settings) -> Iterator[Finding]:
    if settings.env == "prod" and not wiring.signs_status_lists(settings):
        yield Finding(
            check="status_lists.key",
            what="no key for status lists is configured",
            why="views name a list that is not there: nobody outside learns that a passport is revoked",
            fix=_NEW_KEY,
            paste="shell",
        )
