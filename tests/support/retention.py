"""Rows of every kind that retention may or may not remove, as old as a test wants them."""

from dataclasses import dataclass
from itertools import count
from uuid import UUID, uuid4

from bpc_worker.core.base.hashing import sha256
from tests.support.database import Database
from tests.support.domain import Domain, compiled

_numbers = count(1)

OLD, YOUNG = 5000, 29  # days


@dataclass(frozen=True)
class Attic:
    """Puts things into the rows of a domain, by its tenant."""

    db: Database
    domain: Domain

    def _add(self, table: str, key: str, **columns: object) -> UUID:
        """The guards are away: states and times as they would be after years."""
        columns = {"tenant_id": self.domain.tenant_id} | columns
        marks = ", ".join(["%s"] * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) RETURNING {key}"
        with self.db.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            [row] = connection.execute(statement.encode(), list(columns.values())).fetchall()
        found = row[key]
        return found if isinstance(found, UUID) else UUID(int=0)

    def _aged(self, table: str, key: str, days: int, **columns: object) -> UUID:
        found = self._add(table, key, **columns)
        self.age(table, key, found, days)
        return found

    def age(self, table: str, key: str, found: object, days: int) -> None:
        with self.db.connect() as connection:
            connection.execute("SET session_replication_role = replica")
            ago = "now() - make_interval(days => %s)"
            connection.execute(
                f"UPDATE {table} SET created_at = {ago} WHERE {key} = %s".encode(), [days, found]
            )

    def blob(self, days: int, content: bytes) -> bytes:
        """Its hash."""
        digest = sha256(content)
        self._add("blobs", "sha256", sha256=digest, size=len(content), content=content)
        with self.db.connect() as connection:
            connection.execute(
                "UPDATE blobs SET put_at = now() - make_interval(days => %s) WHERE sha256 = %s",
                [days, digest],
            )
        return digest

    def document(self, days: int, status: str = "VALIDATED", facts: tuple[UUID, ...] = ()) -> UUID:
        number = next(_numbers)
        name = self._add("documents", "document_id", kind="BOM", external_ref=f"{number}.csv")
        self.blob(days, str(number).encode())
        made = self._aged(
            "document_versions",
            "document_version_id",
            days,
            document_id=name,
            sha256=sha256(str(number).encode()),
            kind="BOM",
            mime_type="text/csv",
            status=status,
            errors="[]" if status == "REJECTED" else None,
        )
        for fact_id in facts:
            self._add("fact_sources", "pointer", fact_id=fact_id, document_version_id=made, pointer="1:1")
        return made

    def fact(self) -> UUID:
        canonical = f'{{"n":{next(_numbers)}}}'.encode()
        return self._add(
            "facts",
            "fact_id",
            fact_type="Component",
            fact_key="component:1",
            schema_version=1,
            payload=canonical.decode(),
            canonical=canonical,
            payload_hash=sha256(canonical),
        )

    def snapshot(self, days: int, status: str = "READY", facts: tuple[UUID, ...] = ()) -> UUID:
        sealed = {"canonical": b"x", "snapshot_hash": sha256(b"x")} if status == "SEALED" else {}
        made = self._aged("data_snapshots", "snapshot_id", days, status=status, **sealed)
        for fact_id in facts:
            self._add("snapshot_items", "fact_id", snapshot_id=made, fact_id=fact_id)
        return made

    def build(self, days: int, state: str = "STOPPED", **columns: object) -> UUID:
        return self._aged(
            "passport_builds",
            "build_id",
            days,
            battery_product_id=self.db.one("SELECT battery_product_id FROM battery_products LIMIT 1")[
                "battery_product_id"
            ],
            passport_id=self.domain.passport_id,
            rule_package_version_id=self.domain.rule_package_version_id,
            law_date="2027-02-18",
            state=state,
            errors="[]" if state == "STOPPED" else None,
            **columns,
        )

    def wanted(self, build: UUID, document: UUID) -> None:
        self._add(
            "passport_build_documents",
            "build_id",
            build_id=build,
            external_ref="bom.csv",
            kind="BOM",
            mime_type="text/csv",
            sha256=sha256(b"content"),
            document_version_id=document,
        )

    def version(self, days: int, status: str) -> UUID:
        signed = (
            {}
            if status == "COMPILING"
            else {
                "signature": b"s" * 64,
                "view_signature": b"v" * 64,
                "public_key": sha256(b"a key"),
            }
        )
        of = compiled(self.domain.passport_id, self.domain.snapshot_id, self.domain.rule_package_version_id)
        version = self._aged("passport_versions", "passport_version_id", days, **of, status=status, **signed)
        self._event(version, days)
        return version

    def _event(self, version: UUID, days: int) -> None:
        self._add(
            "events",
            "event_id",
            aggregate_type="passport",
            aggregate_id=self.domain.passport_id,
            aggregate_version=1000 + next(_numbers),
            event_type="PASSPORT_COMPILED",
            occurred_at=self._days_ago(days),
            actor_id="test",
            payload_text=f'{{"passport_version_id": "{version}"}}',
            payload_hash=sha256(b"{}"),
            prev_event_hash=sha256(b"before"),
            event_hash=sha256(uuid4().bytes),
        )

    def delivery(self, days: int, status: str) -> UUID:
        return self._aged(
            "webhook_deliveries",
            "webhook_delivery_id",
            days,
            webhook_endpoint_id=uuid4(),
            event_id=uuid4(),
            event_type="PASSPORT_SIGNED",
            body=b"{}",
            status=status,
            delivered_at=self._days_ago(days) if status == "DELIVERED" else None,
        )

    def _days_ago(self, days: int) -> object:
        return self.db.one("SELECT now() - make_interval(days => %s) AS at", [days])["at"]

    def ids(self) -> set[UUID]:
        """Of everything that retention could be about."""
        keys = {
            "document_versions": "document_version_id",
            "facts": "fact_id",
            "data_snapshots": "snapshot_id",
            "passport_builds": "build_id",
            "passport_versions": "passport_version_id",
            "webhook_deliveries": "webhook_delivery_id",
        }
        rows = [row for table, key in keys.items() for row in self.db.run(f"SELECT {key} AS id FROM {table}")]
        return {row["id"] for row in rows if isinstance(row["id"], UUID)}
