"""A row or more in every table of the domain, for one tenant, made without a worker."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from bpc_worker.core.audit.event_hash import Event, event_hash
from bpc_worker.core.base.hashing import sha256
from tests.support.database import Database

KEY_ID = "key-1"


@dataclass(frozen=True)
class Domain:
    tenant_id: str
    document_id: UUID
    document_version_id: UUID
    fact_id: UUID
    snapshot_id: UUID
    rule_package_version_id: UUID
    passport_id: UUID
    passport_version_id: UUID
    build_id: UUID
    chain: UUID


def domain(db: Database, tenant: str = "acme", *, signed: bool = True) -> Domain:
    """Everything in its last state: validated, sealed, published, signed with its code; or COMPILING."""
    tenant_id = db.tenant(tenant)

    def add(table: str, returning: str, **columns: object) -> UUID:
        columns = {"tenant_id": tenant_id} | columns
        marks = ", ".join(["%s"] * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) RETURNING {returning}"
        found = db.one(statement, list(columns.values()))[returning]
        return found if isinstance(found, UUID) else UUID(int=0)

    add("blobs", "sha256", sha256=sha256(b"content"), size=7, content=b"content")
    document_id = add("documents", "document_id", kind="BOM", external_ref="bom.csv")
    document_version_id = add(
        "document_versions",
        "document_version_id",
        document_id=document_id,
        sha256=sha256(b"content"),
        kind="BOM",
        mime_type="text/csv",
        status="VALIDATED",
    )
    fact_id = add(
        "facts",
        "fact_id",
        fact_type="Battery",
        fact_key="battery:X",
        schema_version=1,
        payload="{}",
        canonical=b"{}",
        payload_hash=sha256(b"{}"),
    )
    add("fact_sources", "pointer", fact_id=fact_id, document_version_id=document_version_id, pointer="/0")
    snapshot_id = add("data_snapshots", "snapshot_id")
    add("snapshot_items", "fact_id", snapshot_id=snapshot_id, fact_id=fact_id)
    db.run(
        "UPDATE data_snapshots SET status = 'SEALED', canonical = %s, snapshot_hash = %s"
        " WHERE snapshot_id = %s",
        [b"sealed", sha256(b"sealed"), snapshot_id],
    )
    package = add("rule_packages", "rule_package_id", name="rules")
    rules = add(
        "rule_package_versions",
        "rule_package_version_id",
        rule_package_id=package,
        version=1,
        dsl="rules",
        dsl_sha256=sha256(b"rules"),
        tests_sha256=sha256(b"tests"),
        status="PUBLISHED",
    )
    add(
        "rule_tests_runs",
        "rule_tests_run_id",
        rule_package_version_id=rules,
        job_id=uuid4(),
        seed=1,
        cases=500,
        passed=True,
        report="[]",
    )
    operator = add("operators", "operator_id", name="Volt Works")
    facility = add("facilities", "facility_id", operator_id=operator, name="Aachen")
    add("id_hosts", "host", host=f"id.{tenant}.example")
    product = add(
        "battery_products",
        "battery_product_id",
        identifier="EV78",
        name="EV 78",
        operator_id=operator,
        facility_id=facility,
    )
    passport_id = add(
        "passports",
        "passport_id",
        battery_product_id=product,
        serial="417",
        unique_identifier=an_identifier(f"id.{tenant}.example"),
    )
    add("signing_keys", "key_id", key_id=KEY_ID, public_key=sha256(b"a public key"))
    passport_version_id = add(
        "passport_versions",
        "passport_version_id",
        **compiled(passport_id, snapshot_id, rules),
    )
    issuer = f"https://id.{tenant}.example"
    add("status_lists", "status_list", issuer=issuer, shuffle_key=sha256(b"shuffle"), allotted=1)
    the_list = db.one("SELECT status_list FROM status_lists WHERE issuer = %s", [issuer])["status_list"]
    add(
        "status_places",
        "passport_version_id",
        passport_version_id=passport_version_id,
        status_list=the_list,
        status_idx=7,
    )
    add(
        "registrations",
        "passport_version_id",
        passport_version_id=passport_version_id,
        passport_id=passport_id,
        registration_id="REG-1",
        registered_at="2027-02-18T12:00:00Z",
        proof_sha256=sha256(b"a proof"),
    )
    if signed:
        sign(db, passport_version_id)
    build_id = add(
        "passport_builds",
        "build_id",
        battery_product_id=product,
        passport_id=passport_id,
        rule_package_version_id=rules,
        law_date="2027-02-18",
        snapshot_id=snapshot_id,
        passport_version_id=passport_version_id,
    )
    add(
        "passport_build_documents",
        "build_id",
        build_id=build_id,
        external_ref="bom.csv",
        kind="BOM",
        mime_type="text/csv",
        sha256=sha256(b"content"),
        document_version_id=document_version_id,
    )
    _add_life(add, document_version_id, snapshot_id, product, passport_id, tenant)
    _add_public(add, product, passport_id, passport_version_id)
    chain = uuid4()
    endpoint = add(
        "webhook_endpoints",
        "webhook_endpoint_id",
        webhook_endpoint_id=uuid4(),
        url="https://example.com/hook",
        secret=b"sealed",
        public_key=sha256(b"a public key"),
    )
    add(
        "webhook_subscriptions",
        "webhook_subscription_id",
        webhook_endpoint_id=endpoint,
        event_type="PASSPORT_SIGNED",
    )
    add("events", "event_id", **an_event(tenant_id, chain))  # a trigger makes its delivery
    db.run("UPDATE webhook_deliveries SET status = 'DELIVERED', delivered_at = now() WHERE tenant_id = %s",
           [tenant_id])  # fmt: skip
    with db.connect() as connection, connection.transaction():
        connection.execute("SELECT set_config('bpc.tenant_id', %s, true), bpc_number_events()", [tenant_id])
    return Domain(
        tenant_id,
        document_id,
        document_version_id,
        fact_id,
        snapshot_id,
        rules,
        passport_id,
        passport_version_id,
        build_id,
        chain,
    )


def _add_life(
    add: Callable[..., UUID],
    document_version_id: UUID,
    snapshot_id: UUID,
    product: UUID,
    passport_id: UUID,
    tenant: str,
) -> None:
    """A model, a document of the battery's own, and the battery that it was before."""
    add("product_models", "snapshot_id", snapshot_id=snapshot_id, battery_product_id=product)
    former = add(
        "passports",
        "passport_id",
        battery_product_id=product,
        serial="416",
        unique_identifier=an_identifier(f"id.{tenant}.example"),
    )
    add("passport_predecessors", "passport_id", passport_id=passport_id, predecessor_id=former)
    add("passport_lives", "passport_life_id", passport_id=passport_id, status="re-used", reason="tested")
    add("passport_documents", "passport_id", passport_id=passport_id, document_version_id=document_version_id)


def _add_public(
    add: Callable[..., UUID], product: UUID, passport_id: UUID, passport_version_id: UUID
) -> None:
    """What the public door has of it; hosts and keys it has by triggers."""
    host = "id.acme.example"
    add("public_models", "gtin", host=host, gtin="09520123456788", battery_product_id=product, name="EV 78")
    add(
        "public_passports",
        "passport_version_id",
        passport_version_id=passport_version_id,
        passport_id=passport_id,
        unique_identifier=an_identifier(host),
        host=host,
        granularity="item",
        product="EV 78",
        status="SIGNED",
        issued_at="2027-02-18T00:00:00Z",
        law_date="2027-02-18",
        view="view",
    )
    add(
        "public_attachments",
        "sha256",
        passport_version_id=passport_version_id,
        sha256=sha256(b"content"),
        kind="instructions",
        media_type="text/plain",
        size=7,
    )
    add("public_contents", "sha256", sha256=sha256(b"content"), content=b"content")


def an_identifier(host: str = "passports.example") -> str:
    """A unique identifier as one without a GTIN has it."""
    return f"https://{host}/p/{uuid4().hex[:16].upper()}"


def draft_of_rules(db: Database, name: str = "rules", tenant: str = "acme") -> UUID:
    """A version that nobody has tested yet."""
    found = db.one(
        "WITH package AS (INSERT INTO rule_packages (tenant_id, name) VALUES (%(tenant)s, %(name)s)"
        " RETURNING tenant_id, rule_package_id)"
        " INSERT INTO rule_package_versions"
        " (tenant_id, rule_package_id, version, dsl, dsl_sha256, tests_sha256)"
        " SELECT tenant_id, rule_package_id, 1, %(name)s, sha256(%(name)s::text::bytea), sha256('')"
        " FROM package"
        " RETURNING rule_package_version_id AS id",
        {"tenant": db.tenant(tenant), "name": name},
    )
    return UUID(str(found["id"]))


def run_of_tests(db: Database, version: object, *, passed: bool = True, cases: int = 500) -> None:
    """A run of its tests."""
    db.run(
        "INSERT INTO rule_tests_runs"
        " (tenant_id, rule_package_version_id, job_id, seed, cases, passed, report)"
        " SELECT tenant_id, rule_package_version_id, gen_random_uuid(), 0, %s, %s, '[]'"
        " FROM rule_package_versions WHERE rule_package_version_id = %s",
        [cases, passed, version],
    )


def compiled(passport_id: UUID, snapshot_id: UUID, rules: UUID) -> dict[str, object]:
    """The columns of a version that is COMPILING, but for the tenant."""
    return {
        "passport_version_id": uuid4(),
        "passport_id": passport_id,
        "snapshot_id": snapshot_id,
        "rule_package_version_id": rules,
        "compiler_build_id": "bpc-core-2",
        "law_date": "2027-02-18",
        "issued_at": f"2027-02-18T00:00:00.{uuid4().int % 10**6:06}Z",
        "payload": b"payload",
        "proof": b"proof",
        "receipt": b"receipt",
        "payload_hash": sha256(b"payload"),
        "proof_root_hash": sha256(b"root"),
        "unique_identifier": "https://id.acme.example/p/0123456789ABCDEF",
        "status_list": 1,
        "status_idx": uuid4().int % 2**17,
        "fields": b"[]",
        "disclosures": b"",
        "gaps": b'{"law":null,"stops":[],"filled":[]}',
        "receipt_hash": sha256(b"receipt"),
        "disclosure_seed": sha256(b"seed"),
        "signing_key_id": KEY_ID,
    }


def sign(db: Database, passport_version_id: UUID) -> None:
    db.run(
        "UPDATE passport_versions SET status = 'SIGNED', signature = %s, view_signature = %s, public_key = %s"
        " WHERE passport_version_id = %s",
        [b"s" * 64, b"v" * 64, sha256(b"a public key"), passport_version_id],
    )
    db.run(
        "UPDATE passport_versions SET qr_payload = 'BPC1', qr_png = 'png' WHERE passport_version_id = %s",
        [passport_version_id],
    )


def an_event(
    tenant_id: str, chain: UUID, version: int = 1, prev: bytes | None = None, number: int = 0
) -> dict[str, object]:
    """The columns of an event of now, as a worker's job would append it."""
    text = f'{{"number":{number},"salt":"{"5a" * 16}"}}'
    event = Event(
        tenant_id=UUID(tenant_id),
        aggregate_type="passport",
        aggregate_id=chain,
        aggregate_version=version,
        event_type="PASSPORT_SIGNED",
        occurred_at=datetime.now(UTC),
        actor_id=f"job:{UUID(int=7)}",
        payload_hash=sha256(text.encode()),
    )
    columns = {name: getattr(event, name) for name in Event.__slots__}
    hashes = {"prev_event_hash": prev, "event_hash": event_hash(event, prev)}
    return columns | hashes | {"payload_text": text}
