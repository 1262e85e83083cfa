"""The commands about the set-up: the effective configuration, its schema and an example, completion."""

import json

import click

from bpc_worker.cli import main
from bpc_worker.cli._common.options import config_option, json_option
from bpc_worker.cli._common.output import tell
from bpc_worker.cli._common.startup import settings_from

_HOW_TO_COMPLETE = {
    "bash": 'eval "$(bpc-worker completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(bpc-worker completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "bpc-worker completion fish > ~/.config/fish/completions/bpc-worker.fish",
}


@main.command()
@click.option("--schema", "show", flag_value="schema", help="The file's JSON Schema, for editors.")
@click.option("--example", "show", flag_value="example", help="A YAML file with every setting, commented.")
@json_option("One JSON object per setting.")
@config_option
def config(*, show: str | None, as_json: bool, config_path: str | None) -> None:
    r"""Print the effective configuration and where each value comes from; secrets are masked.

    \b
    Example: bpc-worker config
    Example: bpc-worker config --example > bpc-worker.yaml
    Example: bpc-worker config --schema > bpc-worker.schema.json
    """
    if show is not None:
        from bpc_worker.config import schema as config_schema

        schema = show == "schema"
        text = json.dumps(config_schema.schema(), indent=2) if schema else config_schema.example()
        click.echo(text, nl=schema)
        return
    from bpc_worker.config.load import describe

    rows = describe(settings_from(config_path))
    if as_json:
        for key, value, source in rows:
            click.echo(json.dumps({"key": key, "value": value, "source": source}, ensure_ascii=False))
        return
    width = max(len(key) for key, _, _ in rows)
    for key, value, source in rows:
        click.echo(f"{key:<{width}}  {value or '-':<32}  {source}")


@main.command()
@click.argument("shell", type=click.Choice(list(_HOW_TO_COMPLETE)))
def completion(shell: str) -> None:
    r"""Print the code that lets a shell complete the commands and options of bpc-worker.

    \b
    Example: eval "$(bpc-worker completion bash)"
    Example: bpc-worker completion fish > ~/.config/fish/completions/bpc-worker.fish
    """
    import sys

    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices above are the shells that click knows
    click.echo(kind(root.command, {}, "bpc-worker", "_BPC_WORKER_COMPLETE").source())
    if sys.stdout.isatty():
        tell(f"for good: {_HOW_TO_COMPLETE[shell]}")
