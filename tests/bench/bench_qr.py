"""What a passport's QR code costs here and with `qrcode` alone: `python -m tests.bench.bench_qr [rounds]`.

The ways take turns within each round, so that a busy machine slows all of them alike; read the ratios.
"""

import sys
from collections.abc import Callable
from io import BytesIO
from statistics import median
from time import perf_counter
from uuid import UUID

from qrcode import QRCode
from qrcode.constants import ERROR_CORRECT_M

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.domain.qr_image import qr_matrix, qr_png

ROUNDS = 60


def passport_text(number: int) -> str:
    payload, proof, receipt = (
        sha256(f"{number} {part}".encode()) for part in ("payload", "proof", "receipt")
    )
    return qr_text(
        passport_version_id=UUID(int=number),
        payload_hash=payload,
        proof_root_hash=proof,
        receipt_hash=receipt,
    )


def made(text: str, optimize: int) -> QRCode:
    code = QRCode(error_correction=ERROR_CORRECT_M, box_size=10, border=4)
    code.add_data(text, optimize=optimize)
    code.make(fit=True)
    return code


def drawn(text: str, optimize: int) -> None:
    made(text, optimize).make_image()


def saved(text: str, optimize: int) -> None:
    made(text, optimize).make_image().save(BytesIO())


WAYS: dict[str, Callable[[str], object]] = {
    "ours, modules only": qr_matrix,
    "ours, PNG bytes": qr_png,
    "qrcode, same code, modules only": lambda text: made(text, 0),
    "qrcode, same code, image": lambda text: drawn(text, 0),
    "qrcode, same code, PNG bytes": lambda text: saved(text, 0),
    "qrcode, its defaults (version 9), image": lambda text: drawn(text, 20),
}
OURS = "ours, PNG bytes"
ALONE = ("qrcode, same code, image", "qrcode, its defaults (version 9), image")
AT_MOST = 0.45


def milliseconds(way: Callable[[str], object], text: str) -> float:
    start = perf_counter()
    way(text)
    return (perf_counter() - start) * 1000


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    for way in WAYS.values():
        way(passport_text(0))  # imports and tables are made once per process
    times: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(1, rounds + 1):
        text = passport_text(number)
        for name, way in WAYS.items():
            times[name].append(milliseconds(way, text))

    ours = median(times[OURS])
    print(f"{'median of ' + str(rounds) + ' rounds':40} {'ms':>8}  {'our PNG : this':>14}")
    for name, taken in times.items():
        print(f"{name:40} {median(taken):8.2f}  {ours / median(taken):14.2f}")
    share = max(ours / median(times[name]) for name in ALONE)
    print(f"our PNG takes {share:.2f} of the time of qrcode's image alone; {AT_MOST} are allowed")
    return 1 if share > AT_MOST else 0


if __name__ == "__main__":
    sys.exit(main())
