"""The commands about rules: their texts, which need no database, and a tenant's packages of them."""

from bpc_worker.cli import main
from bpc_worker.cli._common.output import refused

RULE_FILE = (
    "FILE is a rule text, a folder of .rules files that are joined in the order of their names, - for "
    "standard input, or the name of a shipped package such as eu_battery."
)


@main.group(modules=("packages", "texts"), epilog=RULE_FILE)
def rules() -> None:
    """Rules: how the fields of a passport come about. check, test and diff need no database."""


def text_from(file: str) -> str:
    from bpc_worker.files.rules import RuleFileError, read_rules

    with refused(RuleFileError, RULE_FILE):
        return read_rules(file)
