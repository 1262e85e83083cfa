"""Whatever a superuser changes behind the triggers, a replay finds it and names the part."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from bpc_worker.jobs.errors import Code, Permanent
from bpc_worker.pipeline.export import export
from bpc_worker.pipeline.replays import Replayed, replay_all, replay_version
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.postgres.embedded.server import Server
from tests.support.exports import BUNDLE, nowhere
from tests.support.signed import Signed, clone, signed_passport

VERSION = "UPDATE passport_versions SET"
SNAPSHOT = "UPDATE data_snapshots SET"
RULES = "UPDATE rule_package_versions SET"
FACTS = "UPDATE facts SET"
BATTERY = "WHERE fact_type = 'Value' AND fact_key = 'composition.mass_kg'"


def flipped(column: str) -> str:
    return f"set_byte({column}, 12, get_byte({column}, 12) # 1)"


def flip(column: str) -> str:
    return f"{column} = {flipped(column)}"


def edited(column: str, old: str, new: str) -> str:
    return f"convert_to(replace(convert_from({column}, 'UTF8'), '{old}', '{new}'), 'UTF8')"


@pytest.fixture(scope="module")
def original(server: Server) -> Iterator[Signed]:
    with signed_passport(server) as made:
        yield made


@pytest.fixture
def signed(original: Signed) -> Iterator[Signed]:
    with clone(original) as copy:
        yield copy


def replayed(signed: Signed, wanted: str | None = None) -> Replayed:
    return signed.path.call(lambda pipeline: replay_version(pipeline, wanted or str(signed.version)))


def test_what_nobody_touched_is_made_again_byte_for_byte(signed: Signed) -> None:
    assert replayed(signed) == Replayed(signed.version)


def test_a_version_is_found_by_its_passport_and_by_its_serial_number(signed: Signed) -> None:
    row = signed.db.one("SELECT passport_id, serial FROM passports")

    assert replayed(signed, str(row["passport_id"])).passport_version_id == signed.version
    assert replayed(signed, str(row["serial"])).passport_version_id == signed.version


def test_all_versions_are_replayed(signed: Signed) -> None:
    async def all_of(pipeline: PipelineSession) -> list[Replayed]:
        return [each async for each in replay_all(pipeline)]

    assert signed.path.call(all_of) == [Replayed(signed.version)]


PAYLOAD_AND_HASH = f"{flip('payload')}, payload_hash = sha256({flipped('payload')})"
SNAPSHOT_AND_HASH = f"{flip('canonical')}, snapshot_hash = sha256({flipped('canonical')})"
MASS = edited("canonical", "400", "401")
OTHER_PRODUCT = "SELECT battery_product_id FROM battery_products WHERE identifier = 'other'"
TAMPERED = {
    "payload": ("payload", f"{VERSION} {flip('payload')}"),
    "payload and its hash": ("payload", f"{VERSION} {PAYLOAD_AND_HASH}"),
    "payload hash": ("payload", f"{VERSION} {flip('payload_hash')}"),
    "proof": ("proof", f"{VERSION} {flip('proof')}"),
    "proof root": ("proof", f"{VERSION} {flip('proof_root_hash')}"),
    "fields of the view": ("view", f"{VERSION} {flip('fields')}"),
    "a disclosure": ("view", f"{VERSION} {flip('disclosures')}"),
    "the last disclosure gone": ("view", f"{VERSION} disclosures = substring(disclosures FROM 1 FOR 2000)"),
    "signature of the view": ("view", f"{VERSION} {flip('view_signature')}"),
    "identifier": ("receipt", f"{VERSION} unique_identifier = unique_identifier || 'X'"),
    "identifier of the passport": ("receipt", "UPDATE passports SET unique_identifier = 'https://other.example/p/0123456789ABCDEF'"),
    "status list": ("receipt", f"{VERSION} status_list = status_list + 1"),
    "place in the status list": ("receipt", f"{VERSION} status_idx = (status_idx + 1) % 131072"),
    "name of the rules": ("receipt", "UPDATE rule_packages SET name = 'other'"),
    "disclosure seed": ("payload", f"{VERSION} {flip('disclosure_seed')}"),
    "receipt, not JSON any more": ("receipt", f"{VERSION} receipt = receipt || 'x'"),
    "receipt, law date": ("receipt", f"{VERSION} receipt = {edited('receipt', '2028-08-18', '2028-08-19')}"),
    "receipt, key": ("receipt", f"{VERSION} receipt = {edited('receipt', 'development', 'other')}"),
    "receipt hash": ("receipt", f"{VERSION} {flip('receipt_hash')}"),
    "law date": ("receipt", f"{VERSION} law_date = law_date + 1"),
    "time of issue": ("receipt", f"{VERSION} issued_at = issued_at + interval '1 second'"),
    "build": ("receipt", f"{VERSION} compiler_build_id = 'bpc-core-0'"),
    "product": ("receipt", f"UPDATE passports SET battery_product_id = ({OTHER_PRODUCT})"),
    "signature": ("signature", f"{VERSION} {flip('signature')}"),
    "public key of the version": ("signature", f"{VERSION} {flip('public_key')}"),
    "key in the registry": ("signature", "UPDATE signing_keys SET status = 'REVOKED'"),
    "snapshot": ("snapshot", f"{SNAPSHOT} {flip('canonical')}"),
    "snapshot hash": ("snapshot", f"{SNAPSHOT} {flip('snapshot_hash')}"),
    "snapshot and its hash": ("snapshot", f"{SNAPSHOT} {SNAPSHOT_AND_HASH}"),
    "all facts gone": ("facts", "DELETE FROM snapshot_items"),
    "one fact gone": (
        "facts", "DELETE FROM snapshot_items WHERE fact_id = (SELECT fact_id FROM facts LIMIT 1)",
    ),
    "a fact": ("facts", f"{FACTS} {flip('canonical')} {BATTERY}"),
    "a fact and its hash": (
        "facts", f"{FACTS} canonical = {MASS}, payload_hash = sha256({MASS}) {BATTERY}",
    ),
    "the copy of a fact for queries": (
        "facts", f"{FACTS} payload = payload || '{{\"value\": \"1\"}}' {BATTERY}",
    ),
    "the hash of a fact": ("facts", f"{FACTS} {flip('payload_hash')} {BATTERY}"),
    "the name of a fact": ("facts", f"{FACTS} fact_key = fact_key || 'x' {BATTERY}"),
    "rules": ("rules", f"{RULES} dsl = dsl || ' '"),
    "rules and their hash": (
        "rules", f"{RULES} dsl = dsl || ' ', dsl_sha256 = sha256(convert_to(dsl || ' ', 'UTF8'))",
    ),
    "hash of the tests of the rules": ("rules", f"{RULES} {flip('tests_sha256')}"),
    "text of the code": ("qr", f"{VERSION} qr_payload = replace(qr_payload, 'BPC1', 'BPC2')"),
    "picture of the code": ("qr", f"{VERSION} qr_png = substring(qr_png FROM 1 FOR length(qr_png) - 40)"),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_a_change_behind_the_triggers_is_found_and_named(what: str, signed: Signed) -> None:
    part, statement = TAMPERED[what]
    tenant = signed.db.tenant()
    signed.db.run(
        "INSERT INTO battery_products (tenant_id, identifier, name) VALUES (%s, 'other', 'other')", [tenant]
    )
    signed.tamper(statement)

    found = replayed(signed)

    assert (found.part, found.passport_version_id) == (part, signed.version), found.message


@pytest.mark.parametrize(
    "what", ["payload", "proof", "signature", "a fact and its hash", "picture of the code"]
)
def test_what_does_not_hold_is_not_handed_out(what: str, signed: Signed) -> None:
    signed.tamper(TAMPERED[what][1])

    with pytest.raises(Permanent) as refused:
        signed.path.call(lambda pipeline: export(pipeline, str(signed.version), BUNDLE, nowhere))

    assert refused.value.code == Code.REPLAY_MISMATCH


def test_a_picture_that_is_packed_otherwise_is_the_same_picture(signed: Signed) -> None:
    from io import BytesIO

    from PIL import Image

    png = signed.db.one("SELECT qr_png FROM passport_versions")["qr_png"]
    assert isinstance(png, bytes)
    packed = BytesIO()
    with Image.open(BytesIO(png)) as image:
        image.convert("L").save(packed, "PNG", compress_level=1)
    signed.tamper(f"{VERSION} qr_png = %s", [packed.getvalue()])

    assert replayed(signed).part is None


@pytest.mark.parametrize(
    "wanted", ["of another tenant", str(UUID(int=7)), "no-such-serial", "a\0b", "\udcff"]
)
def test_what_another_tenant_has_is_not_there(wanted: str, signed: Signed) -> None:
    """In the same words as what nobody has."""
    signed.db.tenant("other")
    other = type(signed.path)(signed.db, "other")
    name = str(signed.version) if wanted == "of another tenant" else wanted

    with pytest.raises(Permanent) as refused:
        other.call(lambda pipeline: replay_version(pipeline, name))

    assert refused.value.code == Code.NOT_FOUND
    assert "there is no such passport version" in refused.value.message
    assert name not in refused.value.message


def test_the_seed_of_the_salts_is_never_shown(signed: Signed) -> None:
    from bpc_worker.pipeline.stored import read_version

    version = signed.path.call(lambda pipeline: read_version(pipeline, str(signed.version)))

    assert version.row.disclosure_seed.hex() not in repr(version)
    assert repr(version.row.disclosure_seed)[2:12] not in repr(version)
    assert isinstance(version.row.passport_version_id, UUID)
