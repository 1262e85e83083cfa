"""Where the commands are: a module is imported when its command is used, so that --help is quick."""

from importlib import import_module

import click

from bpc_worker.cli._common.parts import Group

# Name: module, attribute, and the first sentence of its help; a test holds that it is.
COMMANDS = {
    "audit": ("audit.events", "audit", "The audit trail: is it still what was written?"),
    "completion": (
        "config",
        "completion",
        "Print the code that lets a shell complete the commands and options of bpc-worker.",
    ),
    "config": (
        "config",
        "config",
        "Print the effective configuration and where each value comes from; secrets are masked.",
    ),
    "dead": ("dead.letters", "dead", "Dead letters: jobs that nobody tries again by himself."),
    "doctor": (
        "doctor",
        "doctor",
        "Find out what is wrong with configuration, database, schema, broker and keys, and how to mend it.",
    ),
    "document": ("documents", "document", "Documents: what suppliers send, and the facts in it."),
    "explain": (
        "doctor",
        "explain",
        "Tell what an error code means, what usually causes it and what to do; without one, list them all.",
    ),
    "jobs": (
        "jobs.jobs",
        "jobs",
        "Jobs of all tenants: what they are, why one does not run, retry, cancel, replay.",
    ),
    "keys": ("keys", "keys", "Keys: what passports are signed with. generate needs no database."),
    "passport": (
        "passport.export",
        "passport",
        "Passports: make them, bring them into force, hand them out, check and explain them.",
    ),
    "pause": (
        "pauses",
        "pause",
        "Claim nothing more of a queue, a type of job or a tenant; what runs goes on.",
    ),
    "pauses": ("pauses", "pauses", "List what is paused: kind, name, until when, by whom, why."),
    "product": ("tenants", "product", "Products: the kinds of battery that passports are made for."),
    "resume": ("pauses", "resume", "Let a paused queue, type or tenant go on."),
    "rules": (
        "rules.packages",
        "rules",
        "Rules: how the fields of a passport come about. check, test and diff need no database.",
    ),
    "snapshot": (
        "snapshots",
        "snapshot",
        "Snapshots: the facts of chosen documents, sealed under one hash.",
    ),
    "stats": (
        "watch",
        "stats",
        "Count the jobs by queue, type and status; what is due and since when, what runs, is dead or paused.",
    ),
    "tail": (
        "watch",
        "tail",
        "Follow what happens to jobs: failures, retries, dead letters, cancels, reaps. ^C ends it.",
    ),
    "tenant": ("tenants", "tenant", "Tenants: whose documents, passports and jobs they are."),
    "top": (
        "watch",
        "top",
        "Watch the queue live: what waits, runs, is dead or paused, and who works. ^C ends it.",
    ),
    "webhook": (
        "webhook.verify",
        "webhook",
        "Webhooks: who is told of events, how deliveries went, and whether a request is ours.",
    ),
}


class Index(Group):
    """The commands above, and those that are added in the usual way."""

    group_class = Group  # groups inside it have commands of their own only

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, attribute, _ = COMMANDS[cmd_name]
        found: click.Command = getattr(import_module(f"bpc_worker.cli.{module}"), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, but with the sentences above, for which nothing is imported."""
        names = self.list_commands(ctx)
        width = formatter.width - 6 - max(map(len, names))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(ctx, name, width)) for name in names])

    def _sentence(self, ctx: click.Context, name: str, width: int) -> str:
        known = COMMANDS[name][2] if name in COMMANDS else None
        command = click.Command(name, help=known) if known else super().get_command(ctx, name)
        return command.get_short_help_str(width) if command is not None else ""
