"""Operators, facilities, hosts, products and serials of a tenant, and what is refused by name."""

from collections.abc import Callable, Coroutine
from typing import TypeAlias, TypeVar

import msgspec
import psycopg
import pytest

from bpc_worker.domain.states import Granularity
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.hosts import add_host, hosts
from bpc_worker.pipeline.identifiers import Leave
from bpc_worker.pipeline.operators import (
    Told,
    add_facility,
    add_operator,
    change_facility,
    change_operator,
    facilities,
    operators,
)
from bpc_worker.pipeline.products import ProductData, add_product, change_product, import_products, products
from bpc_worker.pipeline.serials import Serials, add_serials, list_serials, make_serials
from bpc_worker.pipeline.session import PipelineSession
from tests.support.database import Database
from tests.support.pipeline import Pipeline

T = TypeVar("T")
Work: TypeAlias = Callable[[PipelineSession], Coroutine[object, object, T]]

GTIN, LEI, GLN = "9520123456788", "529900T8BM49AURSDO55", "9506000134352"
EV78 = "urn:example:helios:ev78"
PROD = {"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql://127.0.0.1/unused"}


@pytest.fixture
def acme(db: Database) -> Pipeline:
    db.tenant("acme")
    db.tenant("volt")
    return Pipeline(db)


@pytest.fixture
def with_gtin(acme: Pipeline) -> Pipeline:
    acme.call(lambda pipeline: add_host(pipeline, "id.volt.eu"))
    acme.call(lambda pipeline: add_product(pipeline, ProductData(identifier=EV78, name="X", gtin=GTIN)))
    return acme


def refused(
    acme: Pipeline, work: Callable[[PipelineSession], Coroutine[object, object, T]], **env: str
) -> str:
    with pytest.raises(Permanent) as caught:
        acme.call(work, **env)
    return str(caught.value)


def add(acme: Pipeline, *serials: str, leave: Leave | None = None, **env: str) -> Serials:
    given = leave or Leave()
    return acme.call(lambda pipeline: add_serials(pipeline, EV78, serials, leave=given), **env)


def urls(found: Serials) -> list[str]:
    return [each.unique_identifier for each in found.passports]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"gtin": "9520123456789"}, "GTIN 9520123456789: its check digit is 9, and should be 8"),
        ({"gtin": "2012345678903"}, "the prefix 2 is for use inside one company"),
        ({"gtin": "9801234567892"}, "the prefix 98 is for refund receipts and coupons"),
        ({"commodity_code": "8507"}, "commodity code '8507': expected 6 to 10 digits"),
        ({"model_identifier": "a\nb"}, "model identifier 'a\\nb': expected 1 to 200 printable characters"),
        ({"operator": "nobody"}, "NOT_FOUND: no operator 'nobody'; `bpc-worker operator list` shows them"),
        ({"facility": "nowhere"}, "NOT_FOUND: no facility 'nowhere'"),
    ],
)
def test_what_a_product_cannot_be_called_is_refused_by_name(
    acme: Pipeline, told: dict[str, str], said: str
) -> None:
    data = ProductData(identifier=EV78, name="X", **told)

    assert said in refused(acme, lambda pipeline: add_product(pipeline, data))
    assert acme.call(products) == []


def test_one_character_too_many_needs_leave(with_gtin: Pipeline) -> None:
    fits = add(with_gtin, "0123456789")
    said = refused(with_gtin, lambda pipeline: add_serials(pipeline, EV78, ["0123456789A"]))
    longer = add(with_gtin, "0123456789A", leave=Leave(longer=True))
    allowed = add(with_gtin, "0123456789B", BPC_LIMITS_IDENTIFIER_CHARACTERS="51")

    assert "has 51 characters, 1 more than the EU registry takes (50)" in said
    assert "--longer-than-registry" in said
    assert [len(url) for found in (fits, longer, allowed) for url in urls(found)] == [50, 51, 51]
    [warning] = longer.warnings
    assert "1 of the identifiers are longer than the EU registry takes (50), by up to 1" in warning
    assert fits.warnings == []


def test_a_serial_with_a_slash_needs_leave(with_gtin: Pipeline) -> None:
    said = refused(with_gtin, lambda pipeline: add_serials(pipeline, EV78, ["A/B", "OK"]))
    found = add(with_gtin, "A/B", leave=Leave(set_82=True))

    assert "serial 'A/B': '/' is not among A-Z 0-9 - _ ." in said
    assert urls(found) == [f"https://id.volt.eu/01/0{GTIN}/21/A%2FB"]
    long = [f"a{number}" for number in range(12)]
    assert "; and 2 more: " in refused(with_gtin, lambda pipeline: add_serials(pipeline, EV78, long))


def test_serials_that_count_up_are_taken_with_a_warning(with_gtin: Pipeline) -> None:
    together = add(with_gtin, "S1", "S2", "S3")
    alone = add(with_gtin, "S4")
    made = with_gtin.call(lambda pipeline: make_serials(pipeline, EV78, 500))

    for found in (together, alone):
        [warning] = found.warnings
        assert "these serials count up (S1, S2): strangers can read production numbers" in warning
        assert "open the page of every battery" in warning
    drawn = [each.serial for each in made.passports]
    assert (len(set(drawn)), {len(each) for each in drawn}, made.warnings) == (500, {10}, [])
    assert made.added == 500


@pytest.mark.parametrize("count", [0, 100_001])
def test_so_many_serials_at_a_time(with_gtin: Pipeline, count: int) -> None:
    said = refused(with_gtin, lambda pipeline: make_serials(pipeline, EV78, count))

    assert f"{count} serials: 1 to 100000 at a time" in said
    assert "0 serials" in refused(with_gtin, lambda pipeline: add_serials(pipeline, EV78, []))


def test_ten_thousand_serials_are_made_at_once(with_gtin: Pipeline) -> None:
    made = with_gtin.call(
        lambda pipeline: make_serials(pipeline, EV78, 10_000, granularity=Granularity.BATCH)
    )
    listed = with_gtin.call(lambda pipeline: list_serials(pipeline, EV78, 3))

    assert len({each.unique_identifier for each in made.passports}) == 10_000
    assert {each.granularity for each in made.passports} == {"batch"}
    assert len(listed) == 3
    assert {each.unique_identifier for each in listed} < {each.unique_identifier for each in made.passports}


def test_a_serial_keeps_its_identifier_whatever_becomes_of_host_and_gtin(acme: Pipeline) -> None:
    acme.call(lambda pipeline: add_product(pipeline, ProductData(identifier=EV78, name="X")))
    without = add(acme, "A", "C7")
    acme.call(lambda pipeline: add_host(pipeline, "id.volt.eu"))
    acme.call(lambda pipeline: add_host(pipeline, "b.volt.eu"))
    acme.call(lambda pipeline: change_product(pipeline, ProductData(identifier=EV78, gtin=GTIN)))
    again = add(acme, "A", "B", "A")

    assert urls(without)[0].startswith("https://passports.example/p/")
    assert len(urls(without)[0]) == 44
    assert without.warnings[0].startswith("passports.example stands in")
    assert urls(again) == [urls(without)[0], f"https://b.volt.eu/01/0{GTIN}/21/B"]
    assert (again.added, again.warnings) == (1, [])


def test_in_production_a_tenant_needs_a_host(acme: Pipeline) -> None:
    acme.call(lambda pipeline: add_product(pipeline, ProductData(identifier=EV78, name="X")))
    said = refused(acme, lambda pipeline: make_serials(pipeline, EV78, 1), **PROD)
    acme.call(lambda pipeline: add_host(pipeline, "id.volt.eu"))
    made = acme.call(lambda pipeline: make_serials(pipeline, EV78, 1), **PROD)

    assert "CONFIG_MISSING" in said
    assert "bpc-worker host add HOST --tenant acme" in said
    assert urls(made)[0].startswith("https://id.volt.eu/p/")


def test_an_identifier_stands_on_one_battery_of_the_whole_installation(db: Database, acme: Pipeline) -> None:
    """Where two tenants lean on the host that stands in."""
    volt = Pipeline(db, "volt")
    data = ProductData(identifier=EV78, name="X", gtin=GTIN)
    for tenant in (acme, volt):
        tenant.call(lambda pipeline: add_product(pipeline, data))
    add(acme, "A1X")

    assert "the identifiers of A1X stand on other batteries already" in refused(
        volt, lambda pipeline: add_serials(pipeline, EV78, ["A1X"])
    )


def test_a_host_belongs_to_one_tenant(db: Database, acme: Pipeline) -> None:
    volt = Pipeline(db, "volt")
    added = [acme.call(lambda pipeline: add_host(pipeline, "id.volt.eu")) for _ in range(2)]

    assert added == [True, False]
    assert "belongs to another tenant" in refused(volt, lambda pipeline: add_host(pipeline, "id.volt.eu"))
    assert "no name of a host" in refused(acme, lambda pipeline: add_host(pipeline, "https://id.volt.eu"))
    assert "stands in" in refused(acme, lambda pipeline: add_host(pipeline, "passports.example"))
    assert [each.host for each in acme.call(hosts)] == ["id.volt.eu"]
    assert volt.call(hosts) == []


def test_a_gtin_names_one_product(with_gtin: Pipeline) -> None:
    other = ProductData(identifier="urn:other", name="X", gtin=GTIN)
    said = [refused(with_gtin, lambda pipeline: add_product(pipeline, other))]
    with_gtin.call(lambda pipeline: add_product(pipeline, ProductData(identifier="urn:other", name="X")))
    said.append(refused(with_gtin, lambda pipeline: change_product(pipeline, other)))

    assert all(f"GTIN 0{GTIN} is that of {EV78}" in each for each in said)
    unknown = ProductData(identifier="urn:unknown", gtin=GTIN)
    assert "no product 'urn:unknown'" in refused(
        with_gtin, lambda pipeline: change_product(pipeline, unknown)
    )


def test_many_products_are_taken_as_a_whole(acme: Pipeline) -> None:
    rows = [
        ProductData(identifier="urn:a", name="A", model_identifier="A-1", gtin=GTIN),
        ProductData(identifier="urn:b", name="B"),
    ]
    other = [
        ProductData(identifier="urn:c", name="C"),
        msgspec.structs.replace(rows[0], model_identifier="A-2"),
    ]
    first = acme.call(lambda pipeline: import_products(pipeline, rows))
    same = acme.call(lambda pipeline: import_products(pipeline, rows))
    said = refused(acme, lambda pipeline: import_products(pipeline, other))
    between = acme.call(products)
    changed = acme.call(lambda pipeline: import_products(pipeline, other, change=True))

    assert (first.added, first.changed, first.same) == (2, 0, 0)
    assert (same.added, same.changed, same.same) == (0, 0, 2)
    assert "urn:a is there with another model_identifier; --change takes the new" in said
    assert [each.identifier for each in between] == ["urn:a", "urn:b"]
    assert (changed.added, changed.changed, changed.same) == (1, 1, 0)
    assert [each.model_identifier for each in acme.call(products)] == ["A-2", None, None]


def test_operators_and_facilities_are_changed_and_listed(acme: Pipeline) -> None:
    told = Told(
        address={"de": "Ring 1"}, identifiers={"LEI": LEI}, contact="a@volt.eu", web="https://volt.eu"
    )
    change = Told(name="Volt", address={"en": "Ring 1"}, contact="", identifiers={"GLN": GLN, "LEI": ""})
    added = [acme.call(lambda pipeline: add_operator(pipeline, "Volt Works", told))[1] for _ in range(2)]
    acme.call(lambda pipeline: add_operator(pipeline, "Other", Told()))
    changed = acme.call(lambda pipeline: change_operator(pipeline, "Volt Works", change))
    acme.call(lambda pipeline: add_facility(pipeline, "Aachen", "Volt", Told()))
    moved = Told(name="Bonn", identifiers={"GLN": GLN})
    acme.call(lambda pipeline: change_facility(pipeline, "Aachen", moved, operator="Other"))

    assert added == [True, False]
    assert acme.call(operators)[1] == changed
    assert (changed.name, changed.contact, changed.web) == ("Volt", None, "https://volt.eu")
    assert changed.address == {"de": "Ring 1", "en": "Ring 1"}
    assert changed.identifiers == {"GLN": GLN}
    [facility] = acme.call(facilities)
    assert (facility.name, facility.operator, facility.identifiers) == ("Bonn", "Other", {"GLN": GLN})


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"identifiers": {"GLN": "9506000134353"}},
            "GLN 9506000134353: its check digit is 3",
        ),
        ({"identifiers": {"LEI": "1"}}, "LEI '1'"),
        ({"address": {"english": "Ring 1"}}, "'english' is no language"),
        ({"address": {"en": "a\nb"}}, "address 'a\\nb': expected 1 to 200 printable characters"),
        ({"web": "volt.eu"}, "web 'volt.eu': an address begins with https://"),
        ({"contact": " a"}, "contact ' a': expected"),
    ],
)
def test_what_an_operator_cannot_be_is_refused_by_name(
    acme: Pipeline, told: dict[str, object], said: str
) -> None:
    about = msgspec.convert(told, Told)

    assert said in refused(acme, lambda pipeline: add_operator(pipeline, "Volt Works", about))
    assert acme.call(operators) == []


def test_names_that_are_unknown_or_taken_are_refused(acme: Pipeline) -> None:
    acme.call(lambda pipeline: add_operator(pipeline, "One", Told()))
    acme.call(lambda pipeline: add_operator(pipeline, "Two", Told()))
    acme.call(lambda pipeline: add_facility(pipeline, "One", "One", Told()))
    acme.call(lambda pipeline: add_facility(pipeline, "Two", "One", Told()))
    two = Told(name="Two")

    assert "no operator 'X'" in refused(acme, lambda pipeline: change_operator(pipeline, "X", two))
    assert "no facility 'X'" in refused(acme, lambda pipeline: change_facility(pipeline, "X", two))
    assert "no operator 'X'" in refused(acme, lambda pipeline: add_facility(pipeline, "Y", "X", Told()))
    assert "name of another" in refused(acme, lambda pipeline: change_operator(pipeline, "One", two))
    assert "name of another" in refused(acme, lambda pipeline: change_facility(pipeline, "One", two))
    assert "name '': expected" in refused(acme, lambda pipeline: add_operator(pipeline, "", Told()))


@pytest.mark.parametrize(
    "url",
    [
        "http://id.volt.eu/p/0123456789ABCDEF",
        "https://id.volt.eu/p/0123456789ABCDEF?version=1",
        "https://id.volt.eu/p/0123456789abcdef",
        "https://ID.volt.eu/p/0123456789ABCDEF",
        f"https://id.volt.eu/01/{GTIN}/21/A",
        f"https://id.volt.eu/01/0{GTIN}/21/A/B",
    ],
)
def test_the_database_takes_no_other_identifier(db: Database, with_gtin: Pipeline, url: str) -> None:
    product = db.one("SELECT tenant_id, battery_product_id FROM battery_products")
    columns = "tenant_id, battery_product_id, serial, unique_identifier"
    statement = f"INSERT INTO passports ({columns}) VALUES (%s, %s, 'A', %s)"

    with pytest.raises(psycopg.errors.CheckViolation):
        db.run(statement, [*product.values(), url])
    db.run(statement, [*product.values(), f"https://id.volt.eu/01/0{GTIN}/21/A%2FB"])
    with pytest.raises(psycopg.errors.RestrictViolation, match="keeps its battery and its identifier"):
        db.run("UPDATE passports SET unique_identifier = unique_identifier || 'C'")
    assert len(with_gtin.call(lambda pipeline: list_serials(pipeline, EV78, 10))) == 1
