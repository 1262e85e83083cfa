"""What a command is here, and a group of them: a package that names the modules of its commands."""

from collections.abc import Sequence
from importlib import import_module

import click


class Command(click.Command):
    r"""Keeps the lines of an example: click wants the character, and a raw docstring has `\b` in two."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.help = (self.help or "").replace("\\b", "\b")
        super().format_help_text(ctx, formatter)


class Group(click.Group):
    """Its modules lie beside it, and are imported when somebody asks for its commands: --help is quick."""

    command_class = Command
    group_class: type[click.Group] | type[type] | None = type  # groups inside it are like it

    def __init__(self, *args: object, modules: Sequence[str] = (), **attributes: object) -> None:
        super().__init__(*args, **attributes)  # type: ignore[arg-type]  # they are click's own
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._import_modules()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        self._import_modules()
        return super().get_command(ctx, cmd_name)

    def _import_modules(self) -> None:
        for module in self._modules:
            import_module(f"{self.callback.__module__}.{module}")
