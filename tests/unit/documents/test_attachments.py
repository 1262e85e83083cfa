"""Attachments: the type by its bytes, the description by its members; nothing is parsed."""

import pytest

from bpc_worker.core.base.hashing import sha256
from bpc_worker.documents.attachments import Described, described
from bpc_worker.documents.model import Accepted, Declared, Rejected
from bpc_worker.documents.parse import parse_document
from bpc_worker.documents.problems import Unfit

PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16) + b"IEND\xae\x42\x60\x82"
JPEG = b"\xff\xd8\xff\xe0" + bytes(16) + b"\xff\xd9"
TEXT = "Vor dem Öffnen spannungsfrei schalten.\n".encode()
SAID = Described(what="declaration_of_conformity", audience="public", language="de", title="EU declaration")


def parsed(content: bytes, mime_type: str, mapping: dict[str, object] | None) -> Accepted | Rejected:
    return parse_document(content, Declared(kind="ATTACHMENT", mime_type=mime_type, mapping=mapping))


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [(PDF, "application/pdf"), (PNG, "image/png"), (JPEG, "image/jpeg"), (TEXT, "text/plain")],
)
def test_an_attachment_is_one_fact_with_the_hash_of_its_bytes(content: bytes, mime_type: str) -> None:
    found = parsed(content, mime_type, SAID.mapping)

    assert isinstance(found, Accepted)
    [fact] = found.facts
    assert (fact.fact_type, fact.fact_key, fact.pointer) == (
        "Attachment",
        "attachment:declaration_of_conformity:de",
        "",
    )
    assert fact.payload == {
        "kind": "declaration_of_conformity",
        "sha256": sha256(content).hex(),
        "size": len(content),
        "media_type": mime_type,
        "language": "de",
        "audience": "public",
        "title": "EU declaration",
    }


def test_without_language_and_title_it_says_neither() -> None:
    found = parsed(PDF, "application/pdf", Described(what="waste", audience="authorities").mapping)

    assert isinstance(found, Accepted)
    [fact] = found.facts
    assert fact.fact_key == "attachment:waste"
    assert not {"language", "title"} & set(fact.payload)


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (PNG, "application/pdf"),
        (b"MZ\x90" + PDF, "application/pdf"),
        (PDF[:20], "application/pdf"),
        (JPEG, "image/png"),
        (PNG[:-4], "image/png"),
        (JPEG[:-1], "image/jpeg"),
        (b"<script>alert(1)</script>", "text/plain"),
        (b"\xff\xfe", "text/plain"),
        (b"a\0b", "text/plain"),
        (b" \n", "text/plain"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(content: bytes, mime_type: str) -> None:
    found = parsed(content, mime_type, SAID.mapping)

    assert isinstance(found, Rejected)
    [problem] = found.problems
    assert problem.message.startswith(f"declared as {mime_type}, but its bytes are not")


def test_other_types_are_not_kept() -> None:
    found = parsed(b"PK\x03\x04", "application/zip", SAID.mapping)

    assert isinstance(found, Rejected)
    assert found.problems[0].message.startswith(
        'the MIME type "application/zip" is not kept; send application/pdf'
    )


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (None, "an attachment is described by"),
        ({"names": {}}, "an attachment is described by"),
        ({"attachment": {"kind": "poem", "audience": "public"}}, 'kind: "poem" is not one of: declaration'),
        ({"attachment": {"kind": "waste", "audience": "us"}}, 'audience: "us" is not one of: authorities'),
        ({"attachment": {"kind": "waste"}}, "audience: a text in quotes is expected"),
        ({"attachment": {"kind": "waste", "audience": "public", "lang": "de"}}, '"lang" is not known here'),
        (
            {"attachment": {"kind": "waste", "audience": "public", "language": "German"}},
            'language: "German" is not the code of a language',
        ),
    ],
)
def test_what_is_wrong_with_its_description_is_said(mapping: dict[str, object] | None, message: str) -> None:
    with pytest.raises(Unfit, match="^" + message.replace("(", r"\(")):
        described(mapping)
    found = parsed(PDF, "application/pdf", mapping)

    assert isinstance(found, Rejected)
    assert found.problems[0].where == "mapping"
