"""Compiles the same passport as everybody else and prints what came out: `python tests/support/repeat.py …`.

    --shuffle N   give the facts, and the members of each at every level, in another order
    --decimal     first spoil the thread's decimal context
    --shut        refuse to open files, sockets and processes while the core works
    --qr          also sign, and draw the QR code, which needs more than the standard library

Runs on the standard library alone, with the repository in PYTHONPATH.
"""

import decimal
import json
import sys
from datetime import UTC, datetime
from random import Random
from uuid import UUID

from bpc_worker.core.audit.event_hash import Event, event_hash
from bpc_worker.core.base.audience import AUDIENCES
from bpc_worker.core.base.hashing import sha256_hex
from bpc_worker.core.passport.qr_text import parse, qr_text
from bpc_worker.core.passport.receipt import receipt_bytes, receipt_hash
from bpc_worker.core.passport.view import assemble, claims, cut, jws
from bpc_worker.core.proof.explain import explain
from bpc_worker.core.proof.verify import verify_proof
from bpc_worker.core.rules.facts import FactSet, make_fact
from bpc_worker.core.rules.testing import run_tests
from bpc_worker.core.rules.values import Fact
from tests.support.generated import KEY_ID, LAW_DATE, inputs, parts, rule_text
from tests.support.proofs import EVERYTHING, FACTS

TESTS = """
property drawn: cases(25) seed(7) {}
  forall a: Int in [0, 9], d: Dec(2) in [0.00, 9.99] => toQty(kg, d) < qty(9, kg);
"""


DEEP = make_fact(
    "Deep", "deep:1", {"b": {"z": 1, "a": [{"y": 2, "x": 3, "w": 4}], "ä": {"2": 0, "1": 0}}, "a": 0}
)


def turned(value: object, dice: Random) -> object:
    """The same value, the members of its objects in another order."""
    if isinstance(value, list):
        return [turned(each, dice) for each in value]
    if isinstance(value, dict):
        return {key: turned(value[key], dice) for key in dice.sample(list(value), len(value))}
    return value


def shuffled_facts(seed: int) -> list[Fact]:
    dice, held = Random(seed), [*FACTS, DEEP, *parts(50)]
    if not seed:
        return held
    return [
        make_fact(each.fact_type, each.fact_key, {name: turned(each.payload[name], dice) for name in names})
        for each in dice.sample(held, len(held))
        for names in [dice.sample(list(each.payload), len(each.payload))]
    ]


def an_event(payload_hash: bytes) -> Event:
    return Event(
        tenant_id=UUID(int=1),
        aggregate_type="PassportVersion",
        aggregate_id=UUID(int=2),
        aggregate_version=1,
        event_type="PASSPORT_COMPILED",
        occurred_at=datetime(2027, 3, 1, 9, 30, tzinfo=UTC),
        actor_id="worker",
        payload_hash=payload_hash,
    )


def repeated(seed: int) -> dict[str, object]:
    source = EVERYTHING + rule_text(20, 50)
    shuffled = shuffled_facts(seed)
    given = inputs(source + TESTS, shuffled)
    made = given.compiled()
    proved = verify_proof(made.proof, law_date=LAW_DATE, facts=FactSet(shuffled))
    told = [line for path in sorted(proved.fields) for line in explain(proved, path)]
    signed = claims(made.receipt, made.evaluated.fields)
    whole = assemble(jws(signed, KEY_ID, bytes(64)), made.evaluated.disclosures)
    return {
        "snapshot": sha256_hex(given.snapshot.canonical),
        "event": event_hash(an_event(made.receipt.payload_hash), None).hex(),
        "payload": sha256_hex(made.payload),
        "proof": sha256_hex(made.proof),
        "proof root": made.receipt.proof_root_hash.hex(),
        "receipt": sha256_hex(receipt_bytes(made.receipt)),
        "claims": sha256_hex(signed),
        "views": [sha256_hex(cut(whole, audience).encode()) for audience in AUDIENCES],
        "explained": sha256_hex("\n".join(told).encode()),
        "tests": [(each.name, each.cases, each.failure) for each in run_tests(given.rules).results],
        "qr text": qr_text(
            passport_version_id=made.receipt.passport_version_id,
            payload_hash=made.receipt.payload_hash,
            proof_root_hash=made.receipt.proof_root_hash,
            receipt_hash=receipt_hash(made.receipt),
        ),
    }


def shut() -> None:
    """From here on, whoever opens, connects or starts anything fails."""

    def refuse(event: str, _arguments: tuple[object, ...]) -> None:
        if event == "open" or event.startswith(
            ("os.", "socket.", "subprocess.", "shutil.", "glob.", "tempfile.")
        ):
            raise PermissionError(event)

    sys.addaudithook(refuse)


def signed_and_drawn(receipt_hash_: bytes, text: str) -> dict[str, object]:
    from bpc_worker.core.base.signing import sign_ed25519
    from bpc_worker.domain.qr_image import qr_matrix, qr_png

    matrix = qr_matrix(text)
    return {
        "signature": sign_ed25519(bytes(32), receipt_hash_).hex(),
        "qr matrix": [matrix.size, matrix.mask, sha256_hex(str(matrix.rows).encode())],
        "qr png": sha256_hex(qr_png(text)),
    }


def main(arguments: list[str]) -> None:
    if "--decimal" in arguments:
        context = decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emax=5, Emin=-5, traps=[decimal.Inexact])
        decimal.setcontext(context)
    if "--shut" in arguments:
        shut()
    found = repeated(int(arguments[arguments.index("--shuffle") + 1]) if "--shuffle" in arguments else 0)
    if "--qr" in arguments:
        text = str(found["qr text"])
        found |= signed_and_drawn(parse(text).receipt_hash, text)
    print(json.dumps(found, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1:])
