"""The files of an order, drawn: each by its folder, its name and its bytes."""

from collections.abc import Iterator

from bpc_worker.carrier import order as orders
from bpc_worker.carrier.code import code_of, png, svg
from bpc_worker.carrier.order import Order, Part
from bpc_worker.carrier.sheet import SheetPrinter
from bpc_worker.files.bundles import zipped

TABLE = "codes.csv"


class Drawer:
    """Draws parts of one order; a process makes one for all of them."""

    def __init__(self, recipe: Order) -> None:
        self._formats = recipe.formats
        self._printing = recipe.printing
        self._printer = SheetPrinter(recipe.template, recipe.printing)

    def files(self, part: Part) -> Iterator[tuple[str, str, bytes]]:
        printed = [(label, code_of(label.identifier, self._printing)) for label in part.labels]
        for kind, draw in (("svg", svg), ("png", png)):
            if kind in self._formats:
                for label, code in printed:
                    yield kind, f"{label.name}.{kind}", draw(code)
        if "pdf" in self._formats:
            yield "pdf", part.pdf_name, self._printer.pdf(printed, part.pdf_name)


def drawn(order: Order) -> dict[str, bytes]:
    """All of a small order, by path: the same files that `making.make` writes. CarrierError says why not."""
    orders.check(order)
    drawer = Drawer(order)
    files = {
        f"{folder}/{name}": data for part in orders.parts(order) for folder, name, data in drawer.files(part)
    }
    return files | {TABLE: orders.table(order)}


def archive(order: Order) -> bytes:
    """All of it in one zip; the same order is the same bytes."""
    return zipped(drawn(order))
