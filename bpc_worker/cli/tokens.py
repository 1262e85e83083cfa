"""The commands about tokens, by which programs and people come in by the doors: create, list, revoke."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import click
from click.core import ParameterSource

from bpc_worker.cli import main
from bpc_worker.cli._common.options import LENGTH, config_option, json_option, several
from bpc_worker.cli._common.output import EXIT_USAGE, fail, show_fields, show_json, show_list, tell
from bpc_worker.cli._common.sessions import as_operator, in_pipeline

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.domain.tokens import Asked, Token

_TENANT = click.option(
    "--tenant", envvar="BPC_TENANT", show_envvar=True, help="Of this tenant: its id or name."
)
_FOR_ALL = "bpc_operator, bpc_reader (for read, values) and bpc_app (for write, activate, webhooks)"


@main.group()
def token() -> None:
    """Tokens: who may come in by the doors of `bpc-worker serve`, and do what there."""


def _split(_: click.Context, __: click.Parameter, given: Sequence[str]) -> list[str]:
    return [scope.strip() for each in given for scope in each.split(",") if scope.strip()]


@token.command("create")
@click.argument("name")
@click.option(
    "--scopes", multiple=True, required=True, metavar="S,S…", callback=_split,
    help="What it may do: read, values, write, activate, webhooks, operate, scale, priority:0 … priority:3.",
)  # fmt: skip
@several(_TENANT, click.option("--all-tenants", is_flag=True, help="For all tenants: an operator's."))
@click.option(
    "--audience", default="public", show_default=True,
    help="Whose view of passports it sees: public, legitimate_interest, authorities, commission.",
)  # fmt: skip
@click.option("--expires", "seconds", type=LENGTH, default="90d", show_default=True, help="For how long.")
@json_option("Id, token and end as one JSON object.")
@config_option
@click.pass_context
def create(
    context: click.Context,
    /,
    *,
    name: str,
    tenant: str | None,
    all_tenants: bool,
    as_json: bool,
    config_path: str | None,
    **asked: "Unpack[Asked]",
) -> None:
    r"""Make a token, and print it: this once. The database keeps only its hash.

    \b
    Example: bpc-worker token create factory-3 --scopes read,write,activate --expires 180d --tenant acme
    """
    from bpc_worker.operator import tokens as of_all
    from bpc_worker.pipeline import tokens as of_one

    whose = _whose(context, tenant, all_tenants=all_tenants)
    made = (
        as_operator(config_path, lambda op: of_all.create_token(op, name, **asked), role=_FOR_ALL)
        if whose is None
        else in_pipeline(config_path, whose, of_one.create_token, name, **asked)
    )
    fields = [(each, getattr(made, each)) for each in ("token_id", "name", "expires_at", "token")]
    show_json(dict(fields)) if as_json else show_fields(fields)
    tell("keep the token: it is not shown again; send it as `Authorization: Bearer …`")


def _whose(context: click.Context, tenant: str | None, *, all_tenants: bool) -> str | None:
    """The tenant, or None for all of them; what the command line says stands above the environment."""
    is_named = context.get_parameter_source("tenant") is ParameterSource.COMMANDLINE
    if (all_tenants and is_named) or not (all_tenants or tenant):
        fail(EXIT_USAGE, "it is not said whose tokens", "say --tenant NAME or --all-tenants")
    return None if all_tenants else tenant


@token.command("list")
@several(_TENANT, click.option("--all-tenants", is_flag=True, help="All there are: for operators."))
@json_option("One JSON object per token.")
@config_option
@click.pass_context
def list_(
    context: click.Context,
    /,
    *,
    tenant: str | None,
    all_tenants: bool,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""List tokens: id, name, whose, state, scopes, audience, end, last use. None shows its secret.

    \b
    Example: bpc-worker token list --tenant acme
    """
    from bpc_worker.operator import tokens as of_all
    from bpc_worker.pipeline import tokens as of_one

    whose = _whose(context, tenant, all_tenants=all_tenants)
    found = (
        as_operator(config_path, of_all.list_tokens)
        if whose is None
        else in_pipeline(config_path, whose, of_one.list_tokens)
    )
    show_list(
        found,
        _line,
        as_json=as_json,
        titles=("id", "name", "tenant", "state", "scopes", "audience", "until", "used", "by"),
        nothing="no tokens yet; make one with `bpc-worker token create NAME --scopes read`",
    )


def _line(each: "Token") -> list[object]:
    scopes = ",".join(each.scopes)
    used = "never" if each.last_used_at is None else f"{each.last_used_at:%Y-%m-%d %H:%M}"
    until = f"{each.revoked_at or each.expires_at:%Y-%m-%d}"
    whose = each.tenant or "all"
    return [
        each.token_id, each.name, whose, each.state, scopes, each.audience, until, used, each.created_by,
    ]  # fmt: skip


@token.command("revoke")
@click.argument("wanted", metavar="TOKEN")
@several(_TENANT, click.option("--all-tenants", is_flag=True, help="Whosever it is: for operators."))
@config_option
@click.pass_context
def revoke(
    context: click.Context,
    /,
    *,
    wanted: str,
    tenant: str | None,
    all_tenants: bool,
    config_path: str | None,
) -> None:
    r"""Let a token open nothing any more, nor the sessions that were begun with it. TOKEN is an id or a name.

    \b
    Example: bpc-worker token revoke factory-3 --tenant acme
    """
    from bpc_worker.operator import tokens as of_all
    from bpc_worker.pipeline import tokens as of_one

    whose = _whose(context, tenant, all_tenants=all_tenants)
    found, revoked = (
        as_operator(config_path, lambda op: of_all.revoke_token(op, wanted), acts=True)
        if whose is None
        else in_pipeline(config_path, whose, of_one.revoke_token, wanted)
    )
    tell(f"token {found.name} ({found.token_id}) {'is' if revoked else 'was already'} revoked")
