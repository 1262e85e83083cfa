"""Rule texts and facts of any size, and passports made of them: the same for the same numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import UUID

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.compile import Evaluated, Identity, evaluate_passport, receipt_of
from bpc_worker.core.passport.receipt import Receipt
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.snapshot import FactRef, SealedSnapshot, seal
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import Limits
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.core.rules.typed import TypedModule
from bpc_worker.core.rules.values import Fact

LAW_DATE = date(2027, 2, 18)
SEED = bytes(range(32))
SNAPSHOT_SALT = bytes(range(16))
KEY_ID = "test-key"
IDENTIFIER = "https://id.example.com/p/0123456789ABCDEF"

# What passports are made of: a text, a product, a share, a sum over facts, something withheld, a statement.
_KINDS = """
field part{n}.name: Text =
  toText(requireSome(recordGet(requireSome(getFact("Part", "part:{k}")), "name")));
--
field part{n}.mass: Qty(kg) for authorities, commission =
  toQty(kg, requireSome(recordGet(requireSome(getFact("Part", "part:{k}")), "kg"))) * 2;
--
field part{n}.share: Qty(pct) = cite("Annex VI");
  let kg = toQty(kg, requireSome(recordGet(requireSome(getFact("Part", "part:{k}")), "kg")));
  round(half_even, 2, percent(kg, field("total.mass")));
--
field part{n}.group: Qty(kg) =
  sumQty(map(getFactsByPrefix("Part", "part:{g}"), p => toQty(kg, requireSome(recordGet(p, "kg")))));
--
field part{n}.secret: Text for authorities =
  if (lawDate() < date("2030-01-01")) then withheld("not before 2030") else "shown {n}";
--
field part{n}.light: Bool =
  let kg = toQty(kg, requireSome(recordGet(requireSome(getFact("Part", "part:{k}")), "kg")));
  emitCompliance("LIGHT_{n}", kg < qty(50, kg), "light");
"""
_TOTAL = """
field total.mass: Qty(kg) =
  sumQty(map(getFactsByPrefix("Part", "part:"), p => toQty(kg, requireSome(recordGet(p, "kg")))));
"""


def rule_text(fields: int, facts: int) -> str:
    """A module of that many fields, over that many facts made by `parts`."""
    kinds = _KINDS.split("--\n")
    lines = [
        kinds[number % len(kinds)].format(n=number, k=key, g=key[:4])
        for number in range(fields - 1)
        for key in [f"{number * 7 % facts:05}"]
    ]
    return _TOTAL + "".join(lines)


def parts(count: int) -> list[Fact]:
    return [
        make_fact(
            "Part",
            f"part:{number:05}",
            {"name": f"part {number}", "kg": f"{number % 97}.{number % 10}5", "critical": number % 3 == 0},
        )
        for number in range(count)
    ]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came of it, and the receipt over that."""

    evaluated: Evaluated
    receipt: Receipt
    inputs: "Inputs"

    @property
    def payload(self) -> bytes:
        return self.evaluated.payload

    @property
    def proof(self) -> bytes:
        return self.evaluated.proof


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a passport is compiled from."""

    snapshot: SealedSnapshot
    facts: tuple[Fact, ...]
    rules: TypedModule
    identity: Identity

    def compiled(self, seed: bytes = SEED) -> Compiled:
        made = evaluate_passport(self.snapshot, self.facts, self.rules, self.identity, salts=Salts(seed))
        return Compiled(made, receipt_of(self.identity, self.snapshot, made), self)


def inputs(
    source: str,
    facts: Iterable[Fact],
    limits: Limits | None = None,
    *,
    law_date: date = LAW_DATE,
    issued_at: datetime = datetime(2027, 3, 1, 9, 30, tzinfo=UTC),
) -> Inputs:
    held = tuple(facts)
    refs = [FactRef(each.fact_type, each.fact_key, bytes.fromhex(each.payload_hash)) for each in held]
    identity = Identity(
        tenant_id=UUID(int=1),
        passport_id=UUID(int=2),
        battery_product_id=UUID(int=3),
        rule_package_version_id=UUID(int=4),
        dsl_sha256=sha256(source.encode()),
        tests_sha256=sha256(text_of_tests(source, limits).encode()),
        signing_key_id=KEY_ID,
        law_date=law_date,
        issued_at=issued_at,
        unique_identifier=IDENTIFIER,
        status_list_uri="https://id.example.com/status/7",
        status_list_idx=4711,
        rules_name="battery_core",
    )
    return Inputs(seal(UUID(int=5), refs, SNAPSHOT_SALT), held, load(source, limits), identity)
