"""What a version is compiled from: read in one view, and refused where a hash is not that of its bytes."""

import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.passport.snapshot import FactRef, seal
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.domain.compile_inputs import CompileInputs, checked, read_inputs
from bpc_worker.handler_api import Permanent
from bpc_worker.testing import A_TENANT, NOON, FakeTx, an_id

FACTS = [
    {"fact_type": "Battery", "fact_key": "b", "canonical": b"{}"},
    {"fact_type": "Component", "fact_key": "c", "canonical": b'{"mass":"1"}'},
]
SEALED = seal(
    an_id(2),
    [FactRef(str(f["fact_type"]), str(f["fact_key"]), sha256(f["canonical"])) for f in FACTS],  # type: ignore[arg-type]
    bytes(16),
)
TEXT = "field a.b: Int = 1;"
ANSWERS = {
    "passports/read": [
        {
            "passport_id": an_id(1), "battery_product_id": an_id(4), "serial": "S-1", "granularity": "item",
            "unique_identifier": "https://id.example/p/0",
        }
    ],
    "snapshots/read": [
        {
            "snapshot_id": an_id(2), "status": "SEALED", "snapshot_hash": SEALED.snapshot_hash,
            "created_at": NOON, "canonical": SEALED.canonical,
        }
    ],
    "snapshots/facts": FACTS,
    "rules/read": [
        {
            "rule_package_version_id": an_id(3), "name": "r", "version": 1, "status": "PUBLISHED",
            "dsl": TEXT,
            "dsl_sha256": sha256(TEXT.encode()), "tests_sha256": sha256(text_of_tests(TEXT).encode()),
        }
    ],
}  # fmt: skip


async def read(**changed: dict[str, object]) -> CompileInputs:
    """With these columns of the first row changed, by the name of the query."""
    answers = dict(ANSWERS)
    for name, columns in changed.items():
        query = name.replace("_", "/")
        first, *others = answers[query]
        answers[query] = [first | columns, *others]
    rows = await read_inputs(
        FakeTx(answers, strict=True),
        A_TENANT,
        passport_id=an_id(1),
        snapshot_id=an_id(2),
        rule_package_version_id=an_id(3),
    )
    return checked(rows)


async def test_inputs_that_fit_together_are_those_that_were_sealed() -> None:
    inputs = await read()

    assert inputs.snapshot.snapshot_hash == SEALED.snapshot_hash
    assert [fact.fact_key for fact in inputs.facts] == ["b", "c"]


@pytest.mark.parametrize(
    ("changed", "member"),
    [
        ({"snapshots_facts": {"canonical": b'{"x":1}'}}, "snapshot_hash"),
        ({"snapshots_facts": {"fact_key": "other"}}, "snapshot_hash"),
        ({"snapshots_facts": {"fact_type": "Component", "fact_key": "c"}}, "snapshot_hash"),
        ({"snapshots_read": {"canonical": b"{}"}}, "snapshot_hash"),
        ({"snapshots_read": {"snapshot_hash": bytes(32)}}, "snapshot_hash"),
        ({"snapshots_read": {"snapshot_id": an_id(9)}}, "snapshot_id"),
        ({"rules_read": {"dsl": TEXT + " "}}, "dsl_sha256"),
        ({"rules_read": {"dsl_sha256": bytes(32)}}, "dsl_sha256"),
        ({"rules_read": {"tests_sha256": bytes(32)}}, "tests_sha256"),
    ],
)
async def test_a_hash_that_is_not_of_its_bytes_is_refused_by_name(
    changed: dict[str, dict[str, object]], member: str
) -> None:
    with pytest.raises(Permanent) as error:
        await read(**changed)

    assert (error.value.code, error.value.detail) == ("RECEIPT_MISMATCH", {"member": member})


async def test_a_snapshot_that_is_not_sealed_is_not_ready() -> None:
    with pytest.raises(Permanent, match="READY, not SEALED") as error:
        await read(snapshots_read={"status": "READY", "canonical": None, "snapshot_hash": None})

    assert error.value.code == "SNAPSHOT_NOT_READY"
