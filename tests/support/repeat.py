"""Compiles the same passport as everybody else and prints what came out: `python tests/support/repeat.py …`.

    --shuffle N   give the facts, and the members of each, in another order
    --decimal     first spoil the thread's decimal context
    --qr          also draw the QR code, which needs more than the standard library

Runs on the standard library alone, with the repository in PYTHONPATH.
"""

import decimal
import json
import sys
from random import Random

from bpc_worker.core import disclosure
from bpc_worker.core.canonical_json import encode
from bpc_worker.core.explain import explain
from bpc_worker.core.hashing import sha256_hex
from bpc_worker.core.qr_text import qr_text
from bpc_worker.core.receipt import receipt_bytes, receipt_hash
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.testing import run_tests
from bpc_worker.core.verify import verify_proof
from tests.support.generated import LAW_DATE, inputs, parts, rule_text
from tests.support.proofs import EVERYTHING, FACTS

TESTS = """
property drawn: cases(25) seed(7) {}
  forall a: Int in [0, 9], d: Dec(2) in [0.00, 9.99] => toQty(kg, d) < qty(9, kg);
"""


def repeated(seed: int) -> dict[str, object]:
    dice = Random(seed)
    source = EVERYTHING + rule_text(20, 50)
    held = [*FACTS, *parts(50)]
    shuffled = [
        make_fact(
            each.fact_type, each.fact_key, dict(dice.sample(list(each.payload.items()), len(each.payload)))
        )
        for each in (dice.sample(held, len(held)) if seed else held)
    ]
    given = inputs(source + TESTS, shuffled)
    made = given.compiled()
    proved = verify_proof(made.proof, law_date=LAW_DATE, facts=FactSet(shuffled))
    told = [line for path in sorted(proved.fields) for line in explain(proved, path)]
    views = [encode(disclosure.view(made.disclosure, audience)).decode() for audience in disclosure.Audience]
    return {
        "payload": sha256_hex(made.payload),
        "proof": sha256_hex(made.proof),
        "proof root": made.receipt.proof_root_hash.hex(),
        "receipt": sha256_hex(receipt_bytes(made.receipt)),
        "disclosure root": made.disclosure.root.hex(),
        "views": [sha256_hex(view.encode()) for view in views],
        "explained": sha256_hex("\n".join(told).encode()),
        "tests": [(each.name, each.cases, each.failure) for each in run_tests(given.rules).results],
        "qr text": qr_text(
            passport_version_id=made.receipt.passport_version_id,
            payload_hash=made.receipt.payload_hash,
            proof_root_hash=made.receipt.proof_root_hash,
            receipt_hash=receipt_hash(made.receipt),
        ),
    }


def main(arguments: list[str]) -> None:
    if "--decimal" in arguments:
        context = decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emax=5, Emin=-5, traps=[decimal.Inexact])
        decimal.setcontext(context)
    found = repeated(int(arguments[arguments.index("--shuffle") + 1]) if "--shuffle" in arguments else 0)
    if "--qr" in arguments:
        from bpc_worker.qr_image import qr_matrix

        matrix = qr_matrix(str(found["qr text"]))
        found["qr matrix"] = [matrix.size, matrix.mask, sha256_hex(str(matrix.rows).encode())]
    print(json.dumps(found, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1:])
