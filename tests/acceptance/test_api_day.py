"""A manufacturer's day by the API alone: products, serials, labels, documents, passports, what happened."""

import zipfile
from io import BytesIO

from tests.support.carriers import in_png
from tests.support.database import Database
from tests.support.manufacturer import Manufacturer, content, data, entries, manifest, town
from tests.support.serving import serving
from tests.support.worker import worker

PRODUCT = "urn:example:helios:ev78"
EXAMPLE = "HLS-EV78-2027-000417"


def test_a_day_from_the_product_to_a_revocation(db: Database) -> None:
    town(db)
    with (
        worker(db.url_as("bpc_worker"), BPC_JOBS_POLL_INTERVAL_MS=100),
        serving(db.url, "api", BPC_WEB_DATABASE_URL=db.url_as("bpc_web")) as running,
    ):
        made = Manufacturer.of(db, running)
        serials = _serials(made)
        _labels(made, serials)
        shared = [_document(made, entry) for entry in entries() if entry["kind"] != "MEASUREMENTS"]
        built = _builds(made, serials, shared)
        _force(made, *built)
        _told(made)
    db.check_history()


def _serials(made: Manufacturer) -> list[str]:
    product = data(made.get("/v1/products/urn%3Aexample%3Ahelios%3Aev78"))
    assert product["identifier"] == PRODUCT
    taken = made.post(f"/v1/products/{product['battery_product_id']}/serials", {"count": 500}, key="serials")
    assert taken.status == 201, taken.text
    again = made.post(f"/v1/products/{product['battery_product_id']}/serials", {"count": 500}, key="serials")
    assert again.body == taken.body
    found = data(taken)["passports"]
    assert len({each["unique_identifier"] for each in found}) == 500
    return [each["serial"] for each in found]


def _labels(made: Manufacturer, serials: list[str]) -> None:
    order = {"product": PRODUCT, "category": "ev", "capacity": "210 Ah"}
    picture = made.post("/v1/carriers", order | {"serials": serials[:1], "format": "png"})
    assert (picture.status, picture.headers["content-type"]) == (200, "image/png"), picture.text
    [first] = data(made.get(f"/v1/passports?serial={serials[0]}"))["items"]
    assert in_png(picture.body).text == first["unique_identifier"]
    archive = made.post("/v1/carriers", order | {"serials": serials[:3], "format": "zip"})
    names = zipfile.ZipFile(BytesIO(archive.body)).namelist()
    assert len(names) == 3 + 3 + 1 + 1
    assert made.post("/v1/carriers", order | {"serials": ["NOBODY"], "format": "svg"}).status == 404


def _document(made: Manufacturer, entry: dict[str, str], serial: str | None = None) -> str:
    """Its id, once it is read; with `serial`, that of another battery in it."""
    text = content(entry) if serial is None else content(entry).replace(EXAMPLE.encode(), serial.encode())
    named = entry if serial is None else entry | {"file": f"{serial}.csv"}
    answer = made.sent(text, named)
    assert answer.status == 200, answer.text
    document = data(answer)["document"]
    assert document["status"] == "VALIDATED", document["errors"]
    return str(document["document_version_id"])


def _builds(made: Manufacturer, serials: list[str], documents: list[str]) -> tuple[str, str]:
    """Three batteries, one of them with a bad file, and a line that is none; the two that are done."""
    bad = made.post(
        "/v1/documents", b"part;mass\nx;not a number\n", media_type="text/csv", wait=30,
        BPC_Kind="BOM", BPC_External_Ref="bad.csv",
    )  # fmt: skip
    assert data(bad)["document"]["status"] == "REJECTED"
    rejected = str(data(bad)["document"]["document_version_id"])
    [measured] = [entry for entry in entries() if entry["kind"] == "MEASUREMENTS"]
    own = [_document(made, measured, serial) for serial in serials[:3]]
    told = [
        manifest(serials[0], [*documents, own[0]]),
        manifest(serials[1], [*documents, own[1], rejected]),
        {"passport": "no manifest"},
        manifest(serials[2], [*documents, own[2]]),
    ]
    lines = made.lines("/v1/builds:bulk", told, key="morning")
    assert [line["status"] for line in lines] == [202, 202, 400, 202], (lines, made.serving.raw[-5:])
    ids = [line["build"]["build_id"] for line in lines if "build" in line]
    states = {each: data(made.get(f"/v1/builds/{each}", Prefer="wait=60")) for each in ids}
    assert [states[each]["state"] for each in ids] == ["DONE", "STOPPED", "DONE"], states
    stopped = states[ids[1]]
    [wrong] = [each for each in stopped["documents"] if each["status"] == "REJECTED"]
    assert wrong["file"] == "bad.csv"
    assert wrong["errors"]
    assert stopped["stages"][0]["state"] == "stopped"
    return ids[0], ids[2]


def _force(made: Manufacturer, first: str, second: str) -> None:
    one, other = (data(made.get(f"/v1/builds/{each}")) for each in (first, second))
    gaps = data(made.get(f"/v1/passports/{one['passport_id']}/gaps"))
    assert gaps["law"]
    assert not [each for each in gaps["gaps"] if each["stops"]]
    for build in (one, other):
        version = f"/v1/passports/{build['passport_id']}/versions/{build['passport_version_id']}"
        for _ in range(2):
            done = made.post(f"{version}:activate", key=f"activate {build['build_id']}".replace(" ", "-"))
            assert done.status == 200, done.text
            assert data(done)["former"] is None
        assert data(made.get(version))["status"] == "ACTIVE"
    bundle = made.get(f"{version}/bundle")
    assert "receipt.json" in zipfile.ZipFile(BytesIO(bundle.body)).namelist()
    assert made.get(f"{version}/label.pdf").body.startswith(b"%PDF")
    assert made.get(f"{version}/qr.svg").body.startswith(b"<svg")
    assert made.get(f"{version}/view").headers["content-type"] == "application/dc+sd-jwt"
    assert data(made.get(f"{version}/dpp?audience=authorities"))["dppStatus"] == "active"
    field = data(made.get(f"{version}/explain?field=composition.mass"))
    assert field["steps"]
    revoked = made.post(f"{version}:revoke", {"reason": "recalled"}, key="revoke")
    assert data(revoked)["changed"] is True
    assert data(made.post(f"{version}:revoke", {"reason": "recalled"}, key="revoke"))["changed"] is True
    assert data(made.get(version))["status"] == "REVOKED"


def _told(made: Manufacturer) -> None:
    """All of it, by pages, each once."""
    seen: list[str] = []
    types: list[str] = []
    word = ""
    while True:
        page = data(made.get(f"/v1/events?limit=20{word}"))
        items = page["items"]
        if not items:
            break
        seen += [each["event_id"] for each in items]
        types += [each["event_type"] for each in items]
        word = f"&after={page['next']}"
    assert len(seen) == len(set(seen))
    assert types.count("PASSPORT_ACTIVATED") == 2
    assert types.count("PASSPORT_REVOKED") == 1
    assert types.count("PASSPORT_EXPORTED") == 1
    assert "BUILD_STOPPED" in types
