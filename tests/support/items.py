"""A product with a model of few facts, and lists of its batteries."""

from uuid import UUID

from bpc_worker.pipeline.documents import DocumentDetail, Upload
from bpc_worker.pipeline.models import seal_model
from bpc_worker.pipeline.products import ProductData, add_product
from bpc_worker.pipeline.sending import send
from bpc_worker.pipeline.session import PipelineSession
from tests.support.pipeline import Pipeline
from tests.support.worker import until

PRODUCT = "urn:example:helios:ev78"
MODEL = "name;value;unit\nidentity.category;EV;\ncomposition.mass_kg;400;kg\nidentity.status;original;\n"
RULES = """
field identity.serial: Text for public = toText(requireSome(recordGet(requireSome(getFact("Identity", "identity")), "serial")));
field identity.batch: Text for public = toText(requireSome(recordGet(requireSome(getFact("Value", "identity.batch")), "value")));
field identity.status: Text for public = toText(requireSome(recordGet(requireSome(getFact("Value", "identity.status")), "value")));
field composition.mass: Text for public = toText(requireSome(recordGet(requireSome(getFact("Value", "composition.mass_kg")), "value")));
"""  # noqa: E501 - rules, one per line


def table(count: int, *, first: int = 1) -> str:
    """A list of so many serials, in batches of a hundred."""
    rows = [f"SN-{number:06};2027-02;B-{number // 100}" for number in range(first, first + count)]
    return "\n".join(["serial;manufacturing_month;batch", *rows]) + "\n"


def sent(path: Pipeline, text: str, kind: str, name: str = "list.csv") -> DocumentDetail:
    upload = Upload(content=text.encode(), kind=kind, mime_type="text/csv", external_ref=name)
    return path.call(lambda pipeline: send(pipeline, upload, seconds=60))


def with_model(path: Pipeline, text: str = MODEL) -> UUID:
    """The product, and its sealed model."""
    data = ProductData(identifier=PRODUCT, name="Helios EV 78")
    path.call(lambda pipeline: add_product(pipeline, data))
    document = str(sent(path, text, "DATA_SHEET", "model.csv").document_version_id)

    async def seal(pipeline: PipelineSession) -> UUID:
        return (await seal_model(pipeline, PRODUCT, [document])).snapshot_id

    made = path.call(seal)
    path.db.tenant(path.tenant)
    until(
        lambda: path.db.run("SELECT FROM product_models WHERE snapshot_id = %s", [made]),
        within=30,
        what="the model",
    )
    return made
