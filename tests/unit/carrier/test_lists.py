"""Lists of batteries: what is read, and everything that is wrong with one at once."""

from pathlib import Path

import pytest

from bpc_worker.carrier.errors import CarrierError
from bpc_worker.carrier.lists import Entry, check_identifiers, identified, labels_of, read_list

LINK = "https://id.example.eu/01/09506000134352/21/"
OWN = "https://id.example.eu/p/0123456789ABCDEF"


def entries(*urls: str) -> list[Entry]:
    return [Entry(number, {"identifier": url}) for number, url in enumerate(urls, start=1)]


def checked(*urls: str, at_most: int | None = 50, set_82: bool = False) -> list[str]:
    return check_identifiers(entries(*urls), at_most=at_most, set_82=set_82)


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_a_text_has_one_a_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "\ufeffB1\r\n\n  B2 \nB3")

    assert read_list(path, "serial") == [
        Entry(1, {"serial": "B1"}),
        Entry(3, {"serial": "B2"}),
        Entry(4, {"serial": "B3"}),
    ]


@pytest.mark.parametrize("mark", [",", ";"])
def test_a_csv_has_columns(mark: str, tmp_path: Path) -> None:
    text = "Serial,Capacity,Made On\nB1,36 Ah,2027-03\nB2,,\n"
    path = written(tmp_path / "a.CSV", text.replace(",", mark))

    assert read_list(path, "serial") == [
        Entry(2, {"serial": "B1", "capacity": "36 Ah", "made_on": "2027-03"}),
        Entry(3, {"serial": "B2", "capacity": "", "made_on": ""}),
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "", "there is no serial in it"),
        ("a.txt", "B1\nB2\nB1\n", "line 3: 'B1' again, after line 1"),
        ("a.csv", "", "no column is called serial; the first line names the columns"),
        ("a.csv", "number;x\n1;2\n", "no column is called serial"),
        ("a.csv", "serial;x;x\n1;2;3\n", "column 'x': names have letters and digits, and stand once"),
        ("a.csv", "serial;{x}\n1;2\n", "column '{x}': names have letters"),
        ("a.csv", "serial;x\n1\n", "line 2: 1 cells, the first line has 2"),
        ("a.csv", 'serial;x\n"1;2\n', "line 2, column 1: a quote is opened and never closed"),
        ("a.csv", "serial;x\n;2\n", "line 2: no serial"),
        ("a.csv", "serial;metals\nB1;Hg\n", "line 2: metals 'Hg'; known are Cd and Pb"),
    ],
)
def test_a_bad_list_says_where(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CarrierError) as refused:
        read_list(written(tmp_path / name, text), "serial")

    assert said in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"B1\xff")

    with pytest.raises(CarrierError, match="byte 2 is not UTF-8; save it as UTF-8"):
        read_list(tmp_path / "a.txt", "serial")
    with pytest.raises(CarrierError, match="No such file"):
        read_list(tmp_path / "none.txt", "serial")


def test_of_many_mistakes_the_first_are_named_and_the_others_counted() -> None:
    with pytest.raises(CarrierError) as refused:
        checked(*[f"http://{number}" for number in range(25)])

    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1] == "and 5 more"


def test_good_identifiers_tell_the_serials_in_them() -> None:
    assert checked(f"{LINK}BAT-1.2", OWN) == ["BAT-1.2"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"{LINK}BAT-0001", "has 51 characters, 1 more than the EU registry takes (50); shorten"),
        ("https://id.example.eu/01/09506000134353/21/B1", "GTIN 09506000134353: its check digit is 3"),
        ("https://id.example.eu/01/02012345678903/21/B1", "GTIN 02012345678903: the prefix 2"),
        ("https://id.example.eu/01/09812345678902/21/B1", "GTIN 09812345678902: the prefix 98"),
        (f"{LINK}A%2FB", "serial 'A/B': '/' is not among A-Z 0-9 - _ .; say --set-82"),
        (f"{LINK}bat", "is not among A-Z 0-9"),
        (f"{LINK}B1?x=1", "is no https://<host>/01/<gtin>/21/<serial>"),
        ("http://id.example.eu/p/0123456789ABCDEF", "is no https://"),
        ("https://ID.example.eu/p/0123456789ABCDEF", "is no name of a host"),
        ("BAT-1", "is no https://"),
    ],
)
def test_a_bad_identifier_is_refused_by_name(url: str, said: str) -> None:
    with pytest.raises(CarrierError) as refused:
        checked(OWN, url)

    [problem] = refused.value.problems
    assert problem.startswith("line 2: ")
    assert said in problem


def test_what_is_asked_for_is_taken() -> None:
    assert checked(f"{LINK}BAT-0001", at_most=None) == ["BAT-0001"]
    assert checked(f"{LINK}A%2FB", set_82=True) == ["A/B"]


def test_a_label_has_what_its_line_says_before_what_is_said_for_all() -> None:
    listed = [
        Entry(2, {"serial": "A/B", "identifier": OWN, "capacity": "", "metals": "Pb, Cd"}),
        Entry(3, {"identifier": f"{LINK}B1", "capacity": "40 Ah", "metals": ""}),
    ]

    one, two = labels_of(listed, ["Pb"], {"capacity": "36 Ah", "maker": "Example"})

    assert (one.name, one.identifier, one.metals) == ("A%2FB", OWN, ("Cd", "Pb"))
    assert one.values == {"capacity": "36 Ah", "maker": "Example", "serial": "A/B", "identifier": OWN}
    assert (two.name, two.metals, two.values["capacity"]) == ("01_09506000134352_21_B1", ("Pb",), "40 Ah")


def test_two_labels_cannot_share_a_file_nor_have_an_endless_name() -> None:
    same = [Entry(1, {"serial": "B", "identifier": OWN}), Entry(2, {"serial": "B", "identifier": f"{LINK}B"})]

    with pytest.raises(CarrierError, match="line 2: its files would be called like those of line 1"):
        labels_of(same, [], {})
    with pytest.raises(CarrierError, match="line 1: too long for the name of a file"):
        labels_of([Entry(1, {"serial": "B" * 201, "identifier": OWN})], [], {})


def test_serials_get_the_identifiers_that_were_found_for_them() -> None:
    listed = [Entry(2, {"serial": "B1", "product": "mine"}), Entry(3, {"serial": "B2"})]

    found = identified(listed, {"B1": OWN, "B2": f"{LINK}B2"}, {"product": "Pack"})

    assert [each.values for each in found] == [
        {"serial": "B1", "product": "mine", "identifier": OWN},
        {"serial": "B2", "product": "Pack", "identifier": f"{LINK}B2"},
    ]


def test_a_list_that_names_another_identifier_is_refused() -> None:
    listed = [Entry(2, {"serial": "B1", "identifier": f"{LINK}B1"})]

    with pytest.raises(CarrierError, match=f"line 2: the identifier of B1 is {OWN}"):
        identified(listed, {"B1": OWN}, {})
