"""Workbooks (XLSX) written by hand, so that a test can write one that no program would."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_ODR = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
# 0 general, 1 percent, 2 a day, 3 a month by a code of its own, 4 percent by one, 5 with a unit in quotes.
_STYLES = (
    f'<styleSheet {_MAIN}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm"/>'
    '<numFmt numFmtId="165" formatCode="0.00%"/>'
    '<numFmt numFmtId="166" formatCode="0.0 &quot;dm&quot;"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="9"/>'
    '<xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>'
)


def text(value: str) -> str:
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def number(value: str, style: int = 0) -> str:
    return f'<c s="{style}"><v>{value}</v></c>'


def rows(*of_cells: Sequence[str]) -> str:
    """The XML of a sheet; cells that are not XML are texts."""
    lines = ("".join(each if each.startswith("<") else text(each) for each in cells) for cells in of_cells)
    body = "".join(f"<row>{line}</row>" for line in lines)
    return f"<worksheet {_MAIN}><sheetData>{body}</sheetData></worksheet>"


def workbook(sheets: Mapping[str, str], parts: Mapping[str, str] | None = None, **states: str) -> bytes:
    """By title and XML; `parts` are added or put in the place of others."""
    tabs = "".join(
        f'<sheet name={quoteattr(title)} sheetId="{index}" state="{states.get(title, "visible")}" '
        f'r:id="rId{index}" xmlns:r="{_ODR}"/>'
        for index, title in enumerate(sheets, 1)
    )
    relations = "".join(
        f'<Relationship Id="rId{index}" Type="{_ODR}/worksheet" Target="worksheets/sheet{index}.xml"/>'
        for index in range(1, len(sheets) + 1)
    )
    names = "http://schemas.openxmlformats.org/package/2006/relationships"
    every = {
        "[Content_Types].xml": _TYPES,
        "xl/workbook.xml": f"<workbook {_MAIN}><sheets>{tabs}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{names}">{relations}</Relationships>',
        "xl/styles.xml": _STYLES,
        **{f"xl/worksheets/sheet{index}.xml": xml for index, xml in enumerate(sheets.values(), 1)},
        **(parts or {}),
    }
    held = BytesIO()
    with ZipFile(held, "w", ZIP_DEFLATED) as archive:
        for name, xml in every.items():
            archive.writestr(name, xml)
    return held.getvalue()
