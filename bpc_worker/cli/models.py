"""The commands about models: seal, list."""

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import (
    config_option,
    json_option,
    limit_option,
    tenant_option,
    wait_options,
)
from bpc_worker.cli._common.output import counted, json_text, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline, not_done, patience


@main.group()
def model() -> None:
    """Models: the facts that all batteries of a product share, sealed once."""


@model.command("seal")
@click.argument("product", metavar="PRODUCT")
@click.option(
    "--document", "documents", multiple=True, required=True, metavar="ID", help="May be given often."
)
@wait_options("it is sealed")
@tenant_option
@json_option("One JSON object.")
@config_option
def model_seal(
    product: str,
    *,
    documents: tuple[str, ...],
    wait: bool,
    timeout: float,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Have the facts of these documents sealed as the model of a product, and print the snapshot's id.

    Versions that are there stay as they are; those made from now on rest on it.

    \b
    Example: bpc-worker model seal urn:example:helios:ev78 --document model.csv --tenant acme --wait
    """
    from bpc_worker.pipeline.jobs import wait_for_job
    from bpc_worker.pipeline.models import ModelJob, seal_model
    from bpc_worker.pipeline.session import PipelineSession
    from bpc_worker.postgres.queue.job_states import JobState

    async def seal(pipeline: PipelineSession) -> tuple[ModelJob, JobState | None]:
        made = await seal_model(pipeline, product, documents)
        if made.job_id is None or not wait:
            return made, None
        return made, await wait_for_job(pipeline, made.job_id, seconds=timeout, looked=patience())

    made, job = in_pipeline(config_path, tenant, seal)
    click.echo(json_text(made) if as_json else made.snapshot_id)
    if made.job_id is None:
        tell("the product's model is just this already")
    elif job is None:
        tell(f"job {made.job_id} seals it; `bpc-worker model list` tells when it has")
    elif not job.succeeded:
        not_done(job)


@model.command("list")
@limit_option
@tenant_option
@json_option("One JSON object per model.")
@config_option
def model_list(*, limit: int, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the models, newest first: product, snapshot, facts, batteries with a snapshot beside it.

    \b
    Example: bpc-worker model list --tenant acme
    """
    from bpc_worker.pipeline.models import models

    show_list(
        in_pipeline(config_path, tenant, models, limit),
        lambda each: [
            each.product, each.snapshot_id, counted(each.facts, "fact"), counted(each.items, "battery item"),
        ],
        as_json=as_json,
        limit=limit,
        nothing="no models yet; `bpc-worker model seal` makes one",
    )  # fmt: skip
