"""The pages of this project as text: their prose wrapped, their headings, links and the files they name.

`python -m tests.support.markdown` wraps the prose of every page that has longer lines than it may.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
WIDTH: Final = 110

_FENCE = re.compile(r"\s*(```|~~~)")
_VERBATIM = re.compile(r"\s*(\||#|<!--|>|-{3,}\s*$)")  # tables, headings, comments, quotes, rules
_ITEM = re.compile(r"(\s*)([-*]|\d+\.)\s+")
_TOKEN = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")
_MARKUP = re.compile(r"([-+*>#|]+|\d+[.)]|#.*|\|.*)")  # at the beginning of a line it would mean something
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """All that is written for people, in this project's own words."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    is_code: bool
    is_prose: bool  # neither code nor table nor heading


def lines(page: str) -> Iterator[Line]:
    fenced, in_list, after_blank = False, False, True
    for text in page.splitlines():
        is_fence = _FENCE.match(text) is not None
        is_item = _ITEM.match(text) is not None
        in_list = is_item or (in_list and (not text or text.startswith(" ")))
        is_indented = text.startswith("    ") and not in_list and after_blank
        is_code = fenced or is_fence or is_indented
        yield Line(text, is_code, is_prose=not is_code and bool(text.strip()) and not _VERBATIM.match(text))
        fenced ^= is_fence
        after_blank = not text.strip() or is_indented


def wrapped(page: str) -> str:
    """With paragraphs and items that have a line of more than `WIDTH` columns filled anew."""
    done: list[str] = []
    paragraph: list[str] = []

    def flush() -> None:
        done.extend(_filled(paragraph) if any(len(each) > WIDTH for each in paragraph) else paragraph)
        paragraph.clear()

    for line in lines(page):
        if not line.is_prose or _ITEM.match(line.text):
            flush()
        (paragraph if line.is_prose else done).append(line.text)
    flush()
    return "\n".join(done) + "\n"


def _filled(paragraph: list[str]) -> list[str]:
    first = paragraph[0]
    item = _ITEM.match(first)
    begin = item.group() if item else first[: len(first) - len(first.lstrip())]
    words = _words(" ".join([first[len(begin) :], *map(str.strip, paragraph[1:])]))
    filled = [begin + words[0]]
    for word in words[1:]:
        if len(filled[-1]) + 1 + len(word) <= WIDTH:
            filled[-1] += f" {word}"
        else:
            filled.append(" " * len(begin) + word)
    return filled


def _words(text: str) -> list[str]:
    """Code and links are one each; what would be markup in front of a line stays with the word before it."""
    words: list[str] = []
    for word in _TOKEN.findall(text):
        if words and _MARKUP.fullmatch(word):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def anchors(page: str) -> set[str]:
    """Of its headings, as forges make them."""
    seen: Counter[str] = Counter()
    found = set()
    for line in lines(page):
        if line.text.startswith("#") and not line.is_code:
            slug = re.sub(r"[^\w\- ]", "", line.text.lstrip("#").strip().lower()).replace(" ", "-")
            found.add(slug if not seen[slug] else f"{slug}-{seen[slug]}")
            seen[slug] += 1
    return found


def links(page: str) -> list[str]:
    """Targets of its links, in tables too, but not in code."""
    return [target for line in lines(page) if not line.is_code for target in _LINK.findall(line.text)]


def main() -> None:
    for path in pages():
        page = path.read_text(encoding="utf-8")
        path.write_text(wrapped(page), encoding="utf-8")


if __name__ == "__main__":
    main()
