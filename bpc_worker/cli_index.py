"""Where the commands are: a module is imported when its command is used, so that --help is quick."""

from importlib import import_module

import click

from bpc_worker.cli_parts import Group

# Name: module, attribute, and the first sentence of its help; a test holds that it is.
COMMANDS = {
    "audit": ("cli_audit_events", "audit", "The audit trail: is it still what was written?"),
    "completion": (
        "cli_config",
        "completion",
        "Print the code that lets a shell complete the commands and options of bpc-worker.",
    ),
    "config": (
        "cli_config",
        "config",
        "Print the effective configuration and where each value comes from; secrets are masked.",
    ),
    "dead": ("cli_dead", "dead", "Dead letters: jobs that nobody tries again by himself."),
    "doctor": (
        "cli_doctor",
        "doctor",
        "Find out what is wrong with configuration, database, schema, broker and keys, and how to mend it.",
    ),
    "document": ("cli_documents", "document", "Documents: what suppliers send, and the facts in it."),
    "explain": (
        "cli_doctor",
        "explain",
        "Tell what an error code means, what usually causes it and what to do; without one, list them all.",
    ),
    "jobs": (
        "cli_jobs",
        "jobs",
        "Jobs of all tenants: what they are, why one does not run, retry, cancel, replay.",
    ),
    "keys": ("cli_keys", "keys", "Keys: what passports are signed with. generate needs no database."),
    "passport": (
        "cli_export",
        "passport",
        "Passports: make them, bring them into force, hand them out, check and explain them.",
    ),
    "pause": (
        "cli_pauses",
        "pause",
        "Claim nothing more of a queue, a type of job or a tenant; what runs goes on.",
    ),
    "pauses": ("cli_pauses", "pauses", "List what is paused: kind, name, until when, by whom, why."),
    "product": ("cli_owner", "product", "Products: the kinds of battery that passports are made for."),
    "resume": ("cli_pauses", "resume", "Let a paused queue, type or tenant go on."),
    "rules": (
        "cli_owner_rules",
        "rules",
        "Rules: how the fields of a passport come about. check, test and diff need no database.",
    ),
    "snapshot": (
        "cli_snapshots",
        "snapshot",
        "Snapshots: the facts of chosen documents, sealed under one hash.",
    ),
    "stats": (
        "cli_watch",
        "stats",
        "Count the jobs by queue, type and status; what is due and since when, what runs, is dead or paused.",
    ),
    "tail": (
        "cli_watch",
        "tail",
        "Follow what happens to jobs: failures, retries, dead letters, cancels, reaps. ^C ends it.",
    ),
    "tenant": ("cli_owner", "tenant", "Tenants: whose documents, passports and jobs they are."),
    "top": (
        "cli_watch",
        "top",
        "Watch the queue live: what waits, runs, is dead or paused, and who works. ^C ends it.",
    ),
    "webhook": (
        "cli_webhook_verify",
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
        found: click.Command = getattr(import_module(f"bpc_worker.{module}"), attribute)
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
