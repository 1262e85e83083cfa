"""What becomes of a battery: measured, waste, another life under another passport, recycled."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import msgspec
import psycopg
import pytest

from bpc_worker.documents.attachments import Described
from bpc_worker.domain.states import LifeStatus
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.documents import Upload
from bpc_worker.pipeline.items import Versions, take_list, take_measurements
from bpc_worker.pipeline.lives import NewLife, become_waste, begin_life, end_life, history
from bpc_worker.pipeline.measurements import measured
from bpc_worker.pipeline.operators import Told, add_operator
from bpc_worker.pipeline.passports import activate
from bpc_worker.pipeline.renewal import renew
from bpc_worker.pipeline.sending import send
from tests.support import items
from tests.support.database import Database
from tests.support.pipeline import Pipeline, pipeline
from tests.support.worker import until, worker

OLD, NEW = "SN-000001", "R-1"
RULES = f"""{items.RULES}
field measured.charge: Text for public = if (isSome(getFact("Measured", "charge_pct")))
  then toText(requireSome(recordGet(requireSome(getFact("Measured", "charge_pct")), "value"))) else "-";
field operator.name: Text for public = if (isSome(getFact("Operator", "operator")))
  then toText(requireSome(recordGet(requireSome(getFact("Operator", "operator")), "name"))) else "-";
field identity.predecessors: Int for public = count(getFactsByPrefix("Predecessor", "predecessor:"));
field attachments.count: Int for public = count(getFactsByPrefix("Attachment", "attachment:"));
"""
MEASURED = (
    "serial;charge_pct;measured_at;source\n"
    f"{OLD};80;2027-03-01T12:00:00Z;telematics\n{OLD};55;2027-03-02T12:00:00Z;telematics\n"
    f"{OLD};70;2027-02-28T12:00:00Z;telematics\n"
)


@contextmanager
def in_force(db: Database) -> Iterator[Pipeline]:
    """One battery of the model, its first version ACTIVE, and two operators."""
    path = pipeline(db, rules=RULES)
    with worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100):
        items.with_model(path)
        path.call(lambda pipeline: add_operator(pipeline, "Recycling AG", Told()))
        path.call(lambda pipeline: add_operator(pipeline, "Second Life GmbH", Told()))
        listed = str(items.sent(path, items.table(1), "SERIALS").document_version_id)
        versions = Versions("battery_core", date(2027, 2, 18))
        path.call(lambda pipeline: take_list(pipeline, items.PRODUCT, listed, versions=versions))
        assert activated(path, OLD, 1)["identity"]["status"] == "original"
        yield path


def activated(path: Pipeline, serial: str, versions: int) -> dict[str, dict[str, object]]:
    """The fields of the newest of so many versions of a passport, in force now."""
    found = until(
        lambda: path.db.run(
            "SELECT passport_version_id, convert_from(payload, 'UTF8')::jsonb -> 'fields' AS fields"
            " FROM passport_versions v JOIN passports USING (passport_id) WHERE serial = %s"
            " AND v.status <> 'COMPILING' ORDER BY v.created_at DESC",
            [serial],
        )[: -versions + 1 or None],
        within=60,
        what=f"version {versions} of {serial}",
    )
    assert isinstance(found, list)
    path.call(lambda pipeline: activate(pipeline, str(found[0]["passport_version_id"])))
    return msgspec.convert(found[0]["fields"], dict[str, dict[str, object]])


def statuses(db: Database, serial: str) -> list[object]:
    rows = db.run(
        "SELECT v.status FROM passport_versions v JOIN passports USING (passport_id) WHERE serial = %s"
        " ORDER BY v.created_at",
        [serial],
    )
    return [row["status"] for row in rows]


def told(db: Database, *types: str) -> list[dict[str, object]]:
    return db.run(
        "SELECT event_type, payload - 'salt' AS payload FROM events WHERE event_type = ANY (%s)"
        " ORDER BY occurred_at",
        [list(types)],
    )


def test_the_next_version_says_what_was_measured_last_and_who_answers_for_waste(db: Database) -> None:
    with in_force(db) as path:
        document = str(items.sent(path, MEASURED, "MEASUREMENTS", "march.csv").document_version_id)
        assert path.call(lambda pipeline: take_measurements(pipeline, items.PRODUCT, document)) == 1
        said = Described(what="test_report", audience="authorities")
        upload = Upload(
            content=b"%PDF-1.7 %%EOF",
            kind="ATTACHMENT",
            mime_type="application/pdf",
            external_ref="test.pdf",
            mapping=said.mapping,
        )
        path.call(lambda pipeline: send(pipeline, upload, seconds=30))
        path.call(lambda pipeline: renew(pipeline, OLD, documents=["test.pdf"]))
        second = activated(path, OLD, 2)
        assert (second["measured"]["charge"], second["attachments"]["count"]) == ("55", 1)

        path.call(lambda pipeline: become_waste(pipeline, OLD, "Recycling AG", "end of use"))
        path.call(lambda pipeline: renew(pipeline, OLD))
        third = activated(path, OLD, 3)
        assert (third["identity"]["status"], third["operator"]["name"]) == ("waste", "Recycling AG")

        series = path.call(lambda pipeline: measured(pipeline, OLD, name="charge_pct"))
        assert [(each.value, each.pointer) for each in series] == [
            ("55", "3:2"),
            ("80", "2:2"),
            ("70", "4:2"),
        ]
    assert statuses(db, OLD) == ["SUPERSEDED", "SUPERSEDED", "ACTIVE"]
    [transferred] = told(db, "PASSPORT_TRANSFERRED")
    assert isinstance(transferred["payload"], dict)
    assert {"status": "waste", "operator": "Recycling AG", "serial": OLD}.items() <= transferred[
        "payload"
    ].items()


def test_another_life_has_a_passport_of_its_own_and_only_one_is_in_force(db: Database) -> None:
    new = NewLife(
        status=LifeStatus.REPURPOSED,
        product=items.PRODUCT,
        serial=NEW,
        operator="Second Life GmbH",
        reason="storage",
        documents=["batch.csv"],
    )
    with in_force(db) as path:
        items.sent(path, "name;value\nidentity.batch;R-7\n", "DATA_SHEET", "batch.csv")
        made = path.call(lambda pipeline: begin_life(pipeline, [OLD], new))
        assert statuses(db, OLD) == ["ACTIVE"]
        day = date(2029, 1, 1)
        path.call(lambda pipeline: renew(pipeline, NEW, rules="battery_core", law_date=day))
        fields = activated(path, NEW, 1)
        linked = path.call(lambda pipeline: history(pipeline, OLD))

        path.call(lambda pipeline: renew(pipeline, OLD, law_date=day))
        with pytest.raises(Permanent, match="another life of it has one"):
            activated(path, OLD, 2)
    assert fields["identity"]["status"] == "repurposed"
    assert (fields["identity"]["batch"], fields["identity"]["predecessors"]) == ("R-7", 1)
    assert fields["operator"]["name"] == "Second Life GmbH"
    assert [each.serial for each in linked.successors] == [NEW]
    assert statuses(db, OLD) == ["SUPERSEDED", "SIGNED"]
    events = told(db, "PASSPORT_TRANSFERRED", "PASSPORT_SUPERSEDED")
    assert [each["event_type"] for each in events] == ["PASSPORT_TRANSFERRED", "PASSPORT_SUPERSEDED"]
    assert isinstance(events[0]["payload"], dict)
    assert events[0]["payload"]["successor"] == made.unique_identifier


def test_what_was_recycled_has_no_passport_any_more(db: Database) -> None:
    with in_force(db) as path:
        path.call(lambda pipeline: end_life(pipeline, OLD, "recycled, certificate 4711"))
        assert statuses(db, OLD) == ["SUPERSEDED"]
        for again in (
            lambda pipeline: end_life(pipeline, OLD, "again"),
            lambda pipeline: become_waste(pipeline, OLD, "Recycling AG", "again"),
        ):
            with pytest.raises(Permanent, match=r"^VALIDATION_ERROR: SN-000001 was recycled .* has ended$"):
                path.call(again)
        refused = pytest.raises(psycopg.errors.RestrictViolation, match="its battery was recycled")
        with refused, db.connect() as connection:
            connection.execute("UPDATE passport_versions SET status = 'ACTIVE' WHERE status = 'SUPERSEDED'")
    [ended] = told(db, "PASSPORT_ENDED")
    assert isinstance(ended["payload"], dict)
    assert ended["payload"]["reason"] == "recycled, certificate 4711"
