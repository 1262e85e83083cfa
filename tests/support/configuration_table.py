"""The tables of docs/configuration.md, made from the settings themselves.

`python -m tests.support.configuration_table` writes them anew between their marks.
"""

from pathlib import Path

from bpc_worker.config.aliases import DROPPED
from bpc_worker.config.settings import KEYS

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def settings_table() -> str:
    lines = ["| key | variable | default | what it is; what is allowed |", "|---|---|---|---|"]
    for key in KEYS:
        secret = " (secret)" if key.secret else ""
        default = f"`{key.default_json}`" if key.default_json else ""
        words = f"{key.help}; {key.kind.allowed}".replace("|", "\\|")
        lines.append(f"| `{key.name}`{secret} | `{key.env}` | {default} | {words} |")
    return "\n".join(lines)


def names_table() -> str:
    lines = ["| old name | here | |", "|---|---|---|"]
    lines += [
        f"| `{old.name}` | `{key.env if old.is_variable else key.name}` | {old.note} |"
        for key in KEYS
        for old in key.aliases
    ]
    lines += [f"| `{name}` | not used | {why} |" for name, why in DROPPED.items()]
    return "\n".join(lines)


def with_tables(page: str) -> str:
    for name, table in (("settings", settings_table()), ("names", names_table())):
        begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{table}{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
