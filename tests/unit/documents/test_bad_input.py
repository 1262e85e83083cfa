"""What real senders get wrong before the content counts; each with words that help."""

import gzip
import io
import zipfile

import pytest

from bpc_worker.documents.model import PAYLOAD_TOO_LARGE, VALIDATION_ERROR, Limits

from .sending import CSV, JSON, places, problem, rejected

HEADER = "part;material;mass_kg;critical;renewable\n"


def a_zip() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return held.getvalue()


@pytest.mark.parametrize("mime", [CSV, JSON])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (a_zip(), "save the sheet as CSV"),
        (b"PK\x05\x06" + bytes(18), "empty ZIP"),
        (gzip.compress(b"{}", mtime=0), "gzip"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office file"),
        (b"name".ljust(257, b"\0") + b"ustar\x0000", "tar archive"),
        (b"\x89PNG\r\n", "PNG"),
        (b"<?xml version='1.0'?><a/>", "XML or HTML"),
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\xff\xfe", "empty"),
        (b"\xff\xfe\x00\x00{\0\0\0", "UTF-32"),
        (b"{\0}\0", "UTF-16 without"),
        (b"\xff\xfe{\0}", "damaged at byte"),
        (b"\xff\xfe\x00\xd8", "damaged at byte"),
    ],
)
def test_a_file_that_is_no_text_is_named(content: bytes, words: str, mime: str) -> None:
    where, message = problem(content, "BOM", mime=mime)

    assert where == ""
    assert words in message


def test_bytes_that_are_not_utf_8_are_named_line_by_line() -> None:
    text = f"{HEADER}Gehäuse;steel;1;true;false\nfine;steel;1;true;false\nTür;steel;1;true;false\n"
    answer = rejected(text.encode("cp1252"), "BOM", mime=CSV)

    assert [(each.where, each.message[:36]) for each in answer.problems] == [
        ("line 2", "character 4 is not UTF-8 (bytes E4),"),
        ("line 4", "character 2 is not UTF-8 (bytes FC),"),
    ]
    assert len(rejected(b"\xe4\n" * 1000, "BOM", mime=CSV).problems) == 10


def test_a_mime_type_that_lies_is_named() -> None:
    assert "but it is JSON" in problem('{"components": []}', "BOM", mime=CSV)[1]
    assert "does not begin with {" in problem(HEADER, "BOM", mime=JSON)[1]
    assert "does not begin with {" in problem('"text"', "BOM", mime=JSON)[1]


def test_a_mime_type_that_is_not_read_is_named() -> None:
    assert "send text/csv, application/json or" in problem("x", "BOM", mime="application/pdf")[1]


def test_every_wrong_declaration_is_named() -> None:
    answer = rejected("x", "PICTURE", mime="image/png", number_format="1 234")

    assert [each.message.split(" is not")[0] for each in answer.problems] == [
        'the kind "PICTURE"',
        'the MIME type "image/png"',
        'the number format "1 234"',
    ]


@pytest.mark.parametrize(
    "mime", ["application/json; charset=utf-8", "Application/JSON", "application/ld+json", "text/json"]
)
def test_json_has_several_names(mime: str) -> None:
    assert "declare the kind BOM" in problem('{"components": []}', "OTHER", mime=mime)[1]


def test_a_document_of_another_kind_is_named() -> None:
    assert problem({"battery": {}}, "PCF")[1] == 'this is {"battery": {…}}; declare the kind OTHER, not PCF'


@pytest.mark.parametrize(("document", "shown"), [({"parts": []}, '"parts"'), ({}, "nothing")])
def test_a_document_of_no_known_shape_is_told_what_is_known(document: object, shown: str) -> None:
    message = problem(document, "BOM")[1]

    assert f"the members {shown}; send" in message
    assert '{"components": […]}' in message


def test_an_array_is_no_document() -> None:
    assert "an object in braces is expected" in problem([1], "BOM")[1]


def test_kinds_without_tables_say_so() -> None:
    assert "OTHER is not read as CSV" in problem("a;b\n1;2", "OTHER")[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b'{"components": ' + b"[" * 100_000, "/components" + "/0" * 63),
        (b'{"components": [' + b"1," * 300_000 + b"1]}", "/components/199998"),
        (b'{"components": ["' + b"x" * 1_100_000 + b'"]}', "/components/0"),
    ],
)
def test_json_beyond_a_limit_is_too_large(content: bytes, where: str) -> None:
    answer = rejected(content, "BOM", mime=JSON)

    assert answer.code == PAYLOAD_TOO_LARGE
    assert answer.problems[0].where == where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (";".join("x" * 501), "line 1, column 501"),
        (f"{HEADER}{'x' * 40_000};steel;1;true;false", "line 2, column 1"),
    ],
)
def test_csv_beyond_a_limit_is_too_large(text: str, where: str) -> None:
    answer = rejected(text, "BOM")

    assert answer.code == PAYLOAD_TOO_LARGE
    assert answer.problems[0].where == where


def test_numbers_beyond_a_limit_are_invalid_not_too_large() -> None:
    text = HEADER + f"a;steel;{'1' * 51};true;false\nb;steel;1e99;true;false"

    assert rejected(text, "BOM").code == VALIDATION_ERROR
    assert places(text, "BOM") == ["line 2, column 3", "line 3, column 3"]


def test_limits_can_be_set() -> None:
    text = HEADER + "a;steel;12345;true;false\n"

    assert problem(text, "BOM", limits=Limits(digits=4))[0] == "line 2, column 3"


def test_a_list_of_problems_has_an_end() -> None:
    text = HEADER + "a;;;;\n" * 50
    answer = rejected(text, "BOM", limits=Limits(problems=7))

    assert len(answer.problems) == 8
    assert answer.problems[-1].message == f"and {50 * 2 + 49 - 7} more"


def test_what_is_shown_can_be_stored() -> None:
    """No NUL and no lone surrogate, wherever the document had them."""
    text = '{"a\\ud800\\u0000": "\\ud800", "battery": "x\\u0000", "\\u0007": NaN}'

    for each in rejected(text, "OTHER", mime=JSON).problems:
        assert "\0" not in (each.where + each.message).encode().decode()
