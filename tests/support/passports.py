"""A signed passport of the shipped rules, as the files of a bundle."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus, RegisteredKey
from bpc_worker.core.passport import bundle
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.core.passport.receipt import receipt_bytes, receipt_hash, signed_receipt_bytes
from bpc_worker.core.passport.view import assemble, claims, jws
from bpc_worker.core.proof.whole import written_out
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.values import Fact
from bpc_worker.files.rules import read_rules
from tests.support.generated import KEY_ID, Compiled, inputs

SIGNER = Ed25519Signer(KEY_ID, bytes(range(32)))
LAW_DATE = date(2028, 8, 18)

VALUES = {
    "manufacturer.name": "Volt Works", "identity.manufacturing_place": "Aachen, DE",
    "identity.manufacturing_month": "2028-08", "identity.category": "EV", "identity.vehicle_category": "M1",
    "identity.status": "original", "composition.chemistry": "NMC", "composition.mass_kg": "400",
    "performance.rated_capacity_ah": "200", "performance.voltage_min_v": "300",
    "performance.voltage_nominal_v": "400", "performance.voltage_max_v": "450",
    "performance.usable_kwh": "75.0", "performance.idle_temperature_min_c": "-20",
    "performance.idle_temperature_max_c": "60", "performance.warranty_months": "96",
    "carbon.raw_material_kg": "3000", "carbon.production_kg": "1800", "carbon.distribution_kg": "900",
    "carbon.end_of_life_kg": "-300",
}  # fmt: skip
COMPONENTS = (("nickel", "250", False), ("steel", "100", False), ("paper", "50", True))


def some_facts(changes: Mapping[str, object] = MappingProxyType({})) -> list[Fact]:
    """Of the worked check: 75 kWh, M1, 8 years; 5,400 kg. Changes by the names of values."""
    facts = [make_fact("Value", name, {"value": value}) for name, value in {**VALUES, **changes}.items()]
    for number, (material, mass, renewable) in enumerate(COMPONENTS, start=1):
        payload = {"material": material, "mass_kg": mass, "renewable": renewable}
        facts.append(make_fact("Component", f"component:{number}", payload))
    return facts


def compiled(facts: list[Fact], *, law_date: date = LAW_DATE) -> Compiled:
    issued_at = datetime(2028, 8, 20, 12, tzinfo=UTC)
    return inputs(read_rules("battery_core"), facts, law_date=law_date, issued_at=issued_at).compiled()


def registry() -> KeyRegistry:
    return KeyRegistry({KEY_ID: RegisteredKey(SIGNER.public_key, KeyStatus.ACTIVE)})


def bundle_parts(facts: list[Fact] | None = None, *, law_date: date = LAW_DATE) -> dict[str, bytes]:
    """Everything a bundle can have."""
    held = some_facts() if facts is None else facts
    return bundle_of(compiled(held, law_date=law_date), held)


def bundle_of(made: Compiled, facts: Iterable[Fact] | None = None) -> dict[str, bytes]:
    """All parts of the archive's bundle, signed with the test key."""
    receipt = made.receipt
    text = qr_text(
        passport_version_id=receipt.passport_version_id,
        payload_hash=receipt.payload_hash,
        proof_root_hash=receipt.proof_root_hash,
        receipt_hash=receipt_hash(receipt),
    )
    listed = [
        {"fact_type": each.fact_type, "fact_key": each.fact_key, "payload": dict(each.payload)}
        for each in (made.inputs.facts if facts is None else facts)
    ]
    return {
        bundle.RECEIPT: signed_receipt_bytes(receipt, SIGNER.sign(Kind.RECEIPT, receipt_bytes(receipt))),
        bundle.PAYLOAD: made.payload,
        bundle.PROOF: written_out(made.proof),
        bundle.SNAPSHOT: made.inputs.snapshot.canonical,
        bundle.FACTS: canonical_json.encode(listed),
        bundle.RULES: made.inputs.rules.source.encode(),
        bundle.VIEW: whole_view(made).encode(),
        bundle.QR_TEXT: text.encode(),
    }


def whole_view(made: Compiled) -> str:
    """With all disclosures, signed with the test key."""
    signed = claims(made.receipt, made.evaluated.fields)
    return assemble(jws(signed, KEY_ID, SIGNER.sign(Kind.VIEW, signed)), made.evaluated.disclosures)


def write_keys(
    folder: Path,
    *others: Mapping[str, object],
    issuers: Sequence[str] | None = None,
    **changes: object,
) -> Path:
    """A registry file with the test key."""
    entry = {
        "key_id": KEY_ID, "public_key": b64encode(SIGNER.public_key).decode(), "status": "ACTIVE",
    } | changes  # fmt: skip
    file = folder / "keys.json"
    named = {} if issuers is None else {"issuers": issuers}
    file.write_text(json.dumps(named | {"keys": [entry, *others]}))
    return file


@dataclass(frozen=True, slots=True)
class Folder:
    """A bundle on disk."""

    path: Path

    @staticmethod
    def of(path: Path, parts: Mapping[str, bytes]) -> "Folder":
        path.mkdir(exist_ok=True)
        for name, data in parts.items():
            (path / name).write_bytes(data)
        return Folder(path)
