"""What a passport version lacks, as it was stored when it was compiled."""

import msgspec

from bpc_worker.core.passport.gaps import Report
from bpc_worker.handler_api import Code, Permanent


def read_report(stored: bytes) -> Report:
    try:
        return msgspec.json.decode(stored, type=Report)
    except msgspec.DecodeError as error:
        raise Permanent(Code.RECEIPT_MISMATCH, f"gaps: what is stored is no report: {error}") from error
