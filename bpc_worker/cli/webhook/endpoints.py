"""The commands about the endpoints of webhooks: add, list, rotate, disable, enable."""

from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import LENGTH, config_option, json_option, tenant_option
from bpc_worker.cli._common.output import show_fields, show_json, show_list, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.webhook import ENDPOINT, webhook

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from bpc_worker.pipeline.webhooks import Endpoint, Keys

_GIVEN = "whsec_…, 24 to 64 bytes in base64; default: a new one of 32. Other users can see arguments."


@webhook.command("add")
@click.argument("url", metavar="URL")
@click.option("--event", "events", multiple=True, metavar="TYPE", help="Only of this type; may be repeated.")
@click.option(
    "--max-attempts", type=click.IntRange(1, 1000), default=5, show_default=True,
    help="Attempts before a delivery is given up; 5 are half a minute, 100 about 26 hours.",
)  # fmt: skip
@click.option("--secret", envvar="BPC_WEBHOOK_SECRET", show_envvar=True, help=_GIVEN)
@tenant_option
@json_option("The endpoint, its secret and its public key as one JSON object.")
@config_option
def add(
    *,
    url: str,
    events: tuple[str, ...],
    max_attempts: int,
    secret: str | None,
    tenant: str,
    as_json: bool,
    config_path: str | None,
) -> None:
    r"""Have events sent to a URL, and print the endpoint's id, its secret and its public key.

    The secret is shown this once. Without --event it is told of everything that happens from now on.

    \b
    Example: bpc-worker webhook add https://example.com/hooks/bpc --max-attempts 100 --tenant acme
    """
    from bpc_worker.pipeline.webhooks import ALL_EVENTS, add_endpoint

    told_of = events or (ALL_EVENTS,)
    keys = in_pipeline(
        config_path, tenant, add_endpoint, url,
        event_types=told_of, max_attempts=max_attempts, secret=secret,
    )  # fmt: skip
    _show_keys(keys, as_json=as_json)
    tell("keep the secret: it is not shown again; `bpc-worker webhook test` sends a first message")


def _show_keys(keys: "Keys", *, as_json: bool) -> None:
    from bpc_worker.core.webhook_signature import public_key_text

    fields = [
        ("webhook_endpoint_id", keys.webhook_endpoint_id),
        ("secret", keys.secret),
        ("public_key", public_key_text(keys.public_key)),
    ]
    show_json(dict(fields)) if as_json else show_fields(fields)


@webhook.command("list")
@tenant_option
@json_option("One JSON object per endpoint.")
@config_option
def list_(*, tenant: str, as_json: bool, config_path: str | None) -> None:
    r"""List the endpoints: id, status, address, what they are told of, what is wrong with them.

    \b
    Example: bpc-worker webhook list --tenant acme
    """
    from bpc_worker.pipeline.webhooks import list_endpoints

    show_list(
        in_pipeline(config_path, tenant, list_endpoints),
        lambda each: [each.webhook_endpoint_id, each.status, each.url, _told_of(each), _trouble(each)],
        as_json=as_json,
        nothing="no endpoints yet; add one with `bpc-worker webhook add URL`",
    )


def _told_of(each: "Endpoint") -> str:
    return "all events" if "*" in each.event_types else ",".join(each.event_types)


def _trouble(each: "Endpoint") -> str | None:
    failing = None if each.failing_since is None else f"failing since {each.failing_since:%Y-%m-%d %H:%M}"
    return each.disabled_reason or failing


@webhook.command("rotate", epilog=ENDPOINT)
@click.argument("endpoint")
@click.option("--overlap", type=LENGTH, default="1d", show_default=True, help="0s: the old secret ends now.")
@click.option("--secret", envvar="BPC_WEBHOOK_SECRET", show_envvar=True, help=_GIVEN)
@tenant_option
@json_option("The endpoint, its new secret and its new public key as one JSON object.")
@config_option
def rotate(
    *, endpoint: str, overlap: float, secret: str | None, tenant: str, as_json: bool, config_path: str | None
) -> None:
    r"""Give an endpoint another secret and key pair, and print them; the old ones sign on for a while.

    During the overlap, webhook-signature has signatures of both and X-BPC-Signature is of the old secret;
    after it, everything is of the new one. If the secret is known to others, say --overlap 0s.

    \b
    Example: bpc-worker webhook rotate https://example.com/hooks/bpc --overlap 2d --tenant acme
    """
    from bpc_worker.pipeline.webhooks import rotate as rotated

    keys = in_pipeline(config_path, tenant, rotated, endpoint, overlap_seconds=overlap, secret=secret)
    _show_keys(keys, as_json=as_json)
    if keys.former_until is None:
        tell("the old secret is of no use any more: give the receiver the new one now")
    else:
        tell(
            f"let the receiver accept both until {keys.former_until:%Y-%m-%d %H:%M %Z}, then the new one only"
        )


@webhook.command("disable", epilog=ENDPOINT)
@click.argument("endpoint")
@click.option("--reason", required=True, help="Why; it stands in the audit trail.")
@tenant_option
@config_option
def disable(*, endpoint: str, reason: str, tenant: str, config_path: str | None) -> None:
    r"""Switch an endpoint off: nothing more is sent to it, and what is still pending fails.

    \b
    Example: bpc-worker webhook disable https://example.com/hooks/bpc --reason "moved" --tenant acme
    """
    from bpc_worker.pipeline.webhooks import disable as disabled

    found, changed = in_pipeline(config_path, tenant, disabled, endpoint, reason)
    tell(f"endpoint {found.webhook_endpoint_id} {'is' if changed else 'was already'} DISABLED")


@webhook.command("enable", epilog=ENDPOINT)
@click.argument("endpoint")
@tenant_option
@config_option
def enable(*, endpoint: str, tenant: str, config_path: str | None) -> None:
    r"""Switch an endpoint on again; it is told of what happens from now on.

    \b
    Example: bpc-worker webhook enable https://example.com/hooks/bpc --tenant acme
    """
    from bpc_worker.pipeline.webhooks import enable as enabled

    found, changed = in_pipeline(config_path, tenant, enabled, endpoint)
    tell(f"endpoint {found.webhook_endpoint_id} {'is' if changed else 'was already'} ACTIVE")
    if changed:
        tell(
            "what failed meanwhile: `bpc-worker webhook replay --failed "
            f"--endpoint {found.webhook_endpoint_id}`; what happened meanwhile was not recorded for it"
        )
