"""A signed passport of the shipped rules, as the files of a bundle."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from bpc_worker.core.base import canonical_json
from bpc_worker.core.base.messages import Kind
from bpc_worker.core.base.signing import Ed25519Signer, KeyRegistry, KeyStatus, RegisteredKey
from bpc_worker.core.passport import bundle
from bpc_worker.core.passport.qr_text import qr_text
from bpc_worker.core.passport.receipt import receipt_bytes, receipt_hash, signed_receipt_bytes
from bpc_worker.core.passport.view import assemble, claims, jws
from bpc_worker.core.rules.facts import make_fact
from bpc_worker.core.rules.values import Fact
from bpc_worker.files.rules import read_rules
from tests.support.generated import KEY_ID, Compiled, inputs

SIGNER = Ed25519Signer(KEY_ID, bytes(range(32)))
LAW_DATE = date(2028, 8, 18)

BATTERY = {
    "battery_id": "urn:example:1", "manufacturer": "Volt Works", "manufacturing_place": "Aachen, DE",
    "manufacturing_date": "2028-08-01", "category": "EV", "status": "original", "chemistry": "NMC",
    "mass_kg": "400", "rated_capacity_ah": "200", "v_min": "300", "v_nom": "400", "v_max": "450",
    "usable_kwh": "75.0", "t_idle_min": "-20", "t_idle_max": "60", "life_years": "8",
    "vehicle_category": "M1",
}  # fmt: skip
COMPONENTS = (("nickel", "250", True, False), ("steel", "100", False, False), ("paper", "50", False, True))
STAGES = {"raw_material": "3000", "production": "1800", "distribution": "900", "end_of_life": "-300"}


def some_facts(**changes: object) -> list[Fact]:
    """Of the worked check: 75 kWh, M1, 8 years; 5,400 kg."""
    facts = [make_fact("Battery", "battery", BATTERY | changes)]
    for number, (material, mass, critical, renewable) in enumerate(COMPONENTS, start=1):
        payload = {"material": material, "mass_kg": mass, "critical": critical, "renewable": renewable}
        facts.append(make_fact("Component", f"component:{number}", payload))
    return facts + [make_fact("PcfStage", f"stage:{name}", {"kg_co2e": kg}) for name, kg in STAGES.items()]


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
        bundle.PROOF: made.proof,
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
