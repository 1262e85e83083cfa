"""Attachments: kept as they came, never parsed; their type is checked, what they are is said beside them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bpc_worker.core.base.audience import EVERYBODY
from bpc_worker.core.base.hashing import sha256
from bpc_worker.documents import values
from bpc_worker.documents.attachment_kinds import WHAT
from bpc_worker.documents.model import FoundFact
from bpc_worker.documents.problems import Problems, Unfit, quoted
from bpc_worker.documents.reading import readings

_MEMBER = "attachment"
_SHAPE = '{"attachment": {"kind", "audience", "language"?, "title"?}}'
_END_WITHIN = 1_024  # bytes: what writers leave behind the end of a PDF


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What the sender says of it."""

    what: str  # one of WHAT
    audience: str
    language: str | None = None
    title: str | None = None

    @property
    def mapping(self) -> dict[str, object]:
        """As it travels with the document."""
        said = {"kind": self.what, "audience": self.audience, "language": self.language, "title": self.title}
        return {_MEMBER: {name: text for name, text in said.items() if text is not None}}


def described(said: object) -> Described:
    """From what stands beside the document; Unfit tells what is wrong with it."""
    inner = said.get(_MEMBER) if isinstance(said, Mapping) and len(said) == 1 else None
    if not isinstance(inner, Mapping):
        raise Unfit(f"an attachment is described by {_SHAPE}")
    unknown = set(inner) - {"kind", "audience", "language", "title"}
    if unknown:
        raise Unfit(f"{quoted(min(map(str, unknown)))} is not known here; {_SHAPE}")
    return Described(
        what=_read("kind", inner.get("kind"), readings.one_of(WHAT)),
        audience=_read("audience", inner.get("audience"), readings.one_of(EVERYBODY)),
        language=None if "language" not in inner else _read("language", inner["language"], values.language),
        title=None if "title" not in inner else _read("title", inner["title"], readings.name),
    )


def fact_of(content: bytes, mime_type: str, mapping: object, problems: Problems) -> list[FoundFact]:
    """The one fact of an attachment: what it is, and the hash by which its bytes are kept."""
    media_type = _MEDIA_TYPES.get(mime_type)
    if media_type is None:
        problems.add("", f"the MIME type {quoted(mime_type)} is not kept; send {', '.join(_MEDIA_TYPES)}")
    elif not media_type(content):
        problems.add("", f"declared as {mime_type}, but its bytes are not; send the file itself, whole")
    try:
        found = described(mapping)
    except Unfit as unfit:
        problems.add("mapping", str(unfit))
        return []
    payload = {
        "kind": found.what,
        "sha256": sha256(content).hex(),
        "size": len(content),
        "media_type": mime_type,
        "audience": found.audience,
    }
    payload |= {} if found.language is None else {"language": found.language}
    payload |= {} if found.title is None else {"title": found.title}
    key = ":".join(filter(None, (_MEMBER, found.what, found.language)))
    return [values.row_fact("Attachment", key, payload, "")]


def _read(member: str, value: object, reading: Callable[[object], str]) -> str:
    try:
        return reading(value)
    except Unfit as unfit:
        raise Unfit(f"{member}: {unfit}") from None


def _is_pdf(content: bytes) -> bool:
    return content.startswith(b"%PDF-") and b"%%EOF" in content[-_END_WITHIN:]


def _is_png(content: bytes) -> bool:
    return content.startswith(b"\x89PNG\r\n\x1a\n") and content[-8:-4] == b"IEND"


def _is_jpeg(content: bytes) -> bool:
    return content.startswith(b"\xff\xd8\xff") and content.endswith(b"\xff\xd9")


def _is_text(content: bytes) -> bool:
    """UTF-8 without control characters, and no markup: that would run where it is shown."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    plain = all(letter.isprintable() or letter in "\r\n\t" for letter in text)
    return bool(text.strip()) and plain and not text.lstrip().startswith("<")


# By the first and last bytes: nobody reads what is between them.
_MEDIA_TYPES: Mapping[str, Callable[[bytes], bool]] = {
    "application/pdf": _is_pdf,
    "image/png": _is_png,
    "image/jpeg": _is_jpeg,
    "text/plain": _is_text,
}
