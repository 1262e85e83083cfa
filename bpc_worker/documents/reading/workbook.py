"""What a workbook says about its sheets: their titles and parts, how cells look, the texts they share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bpc_worker.documents.model import Limits
from bpc_worker.documents.reading.archive import TooLarge
from bpc_worker.documents.reading.cells import Shown, shown_by

_LONGEST_TITLE = 100
_LONGEST_CODE = 1_000
_MOST_STYLES = 100_000


@dataclass(frozen=True, slots=True)
class Tab:
    title: str
    relation: str
    hidden: bool


@dataclass(slots=True)
class Workbook:
    """Handler of workbook.xml."""

    tabs: list[Tab] = field(default_factory=list)
    from_1904: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "workbookPr":
            self.from_1904 = attributes.get("date1904") in {"1", "true"}
        elif name == "sheet":
            title = attributes.get("name", "")[:_LONGEST_TITLE]
            hidden = attributes.get("state", "visible") != "visible"
            self.tabs.append(Tab(title, attributes.get("id", ""), hidden))

    def end(self, _: str) -> None: ...
    def text(self, _: str) -> None: ...


@dataclass(slots=True)
class Relations:
    """Handler of the list of parts: which id means which part."""

    targets: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            self.targets[attributes.get("Id", "")] = (
                target.lstrip("/") if target[:1] == "/" else f"xl/{target}"
            )

    def end(self, _: str) -> None: ...
    def text(self, _: str) -> None: ...


@dataclass(slots=True)
class Styles:
    """Handler of styles.xml: what each style shows a number as."""

    codes: dict[int, str] = field(default_factory=dict)
    styles: list[Shown] = field(default_factory=list)
    in_cells: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        number = attributes.get("numFmtId", "0")
        format_id = int(number) if re.fullmatch("[0-9]{1,6}", number) else 0
        if name == "cellXfs":
            self.in_cells = True
        elif name == "numFmt":
            self.codes[format_id] = attributes.get("formatCode", "")[:_LONGEST_CODE]
        elif name == "xf" and self.in_cells and len(self.styles) < _MOST_STYLES:
            self.styles.append(shown_by(format_id, self.codes))

    def end(self, name: str) -> None:
        self.in_cells = self.in_cells and name != "cellXfs"

    def text(self, _: str) -> None: ...


@dataclass(slots=True)
class Strings:
    """Handler of the texts that cells share."""

    limits: Limits
    texts: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    size: int = 0
    aside: bool = False  # how a text is pronounced is no part of it
    in_text: bool = False

    def start(self, name: str, _: Mapping[str, str]) -> None:
        self.aside = self.aside or name == "rPh"
        self.in_text = name == "t" and not self.aside

    def text(self, data: str) -> None:
        if self.in_text:
            self.size += len(data)
            self.parts.append(data)

    def end(self, name: str) -> None:
        self.in_text = False
        self.aside = self.aside and name != "rPh"
        if name == "si":
            self.texts.append("".join(self.parts))
            self.parts.clear()
            most = self.limits.xlsx_texts
            if self.size > most or len(self.texts) > most:
                raise TooLarge(f"the workbook holds more than {most} characters of text; send only the data")
