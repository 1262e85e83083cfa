"""What a token, or a group at a proxy, may be allowed to do at the doors."""

from typing import Final

SCOPES: Final = (
    "read", "values", "write", "activate", "webhooks", "operate", "scale",
    "priority:0", "priority:1", "priority:2", "priority:3",
)  # fmt: skip
