"""A passport version that is not what its inputs give: refused, with the member that tells."""

from bpc_worker.handler_api import Code, Permanent


class Mismatch(Permanent):
    """Found by the worker itself: a child that raises the same code is only believed that it failed."""

    def __init__(self, member: str, why: str) -> None:
        super().__init__(Code.RECEIPT_MISMATCH, f"{member}: {why}", detail={"member": member})
        self.member = member


def check_same(member: str, stored: object, expected: object) -> None:
    if stored != expected:
        raise Mismatch(member, f"stored {_shown(stored)}, expected {_shown(expected)}")


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
