"""Who makes the invented batteries: operators, facilities and products, before the first build."""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from bpc_worker.config.yaml import load_plain
from bpc_worker.pipeline.builds.recipe import Recipe
from bpc_worker.pipeline.operators import Told, add_facility, add_operator
from bpc_worker.pipeline.products import ProductData, add_product
from bpc_worker.pipeline.session import PipelineSession

BATTERIES = ("ev", "lmt", "stationary", "industrial")


class _Product(msgspec.Struct, frozen=True):
    model_identifier: str
    commodity_code: str


class _Party(Told, frozen=True, kw_only=True):
    name: str


class _Company(msgspec.Struct, frozen=True):
    operator: _Party
    facility: _Party
    product: _Product


def examples() -> Traversable:
    return files("bpc_worker.demo") / "examples"


def _companies() -> Mapping[str, _Company]:
    told = load_plain((examples() / "companies.yaml").read_bytes())
    return msgspec.convert(told, dict[str, _Company])


async def set_up(pipeline: PipelineSession, battery: str, recipe: Recipe) -> None:
    """What a passport tells of them is copied when it is built; what is there already stays as it is."""
    company = _companies()[battery]
    operator, facility = company.operator, company.facility
    await add_operator(pipeline, operator.name, operator)
    await add_facility(pipeline, facility.name, operator.name, facility)
    await add_product(
        pipeline,
        ProductData(
            identifier=recipe.product.identifier,
            name=recipe.product.name,
            model_identifier=company.product.model_identifier,
            commodity_code=company.product.commodity_code,
            operator=operator.name,
            facility=facility.name,
        ),
    )
