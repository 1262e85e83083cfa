"""Print a statement of the product for psql: `python -m tests.support.paste jobs/claim`.

PREPARE with the types of its parameters, and EXECUTE with values that fit: NULL where no better one is known.
Between BEGIN and ROLLBACK it changes nothing.
"""

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from bpc_worker.postgres.sql_files import prepared

_NOBODY = f"'{UUID(int=0)}'"

# A worker with three types in two queues that looks everywhere; a job that ended well.
EXAMPLES: Mapping[str, str] = MappingProxyType({
    "limit": "10", "hops": "8", "share": "2", "oldest": "false",
    "unserved": "0", "ahead": "false", "passed_over": "'{}'", "claim_bytes": "8388608",
    "inline_bytes": "32768",
    "scan": "true",
    "at_queues": "'{default,slow}'", "at_types": """'{"",""}'""", "at_priorities": "'{-1,-1}'",
    "since": "'{-infinity,-infinity}'", "since_ids": f"'{{{UUID(int=0)},{UUID(int=0)}}}'",
    "queues": "'{default,slow}'", "types": "'{COMPILE_PASSPORT,SIGN_PASSPORT,TEST_NOOP}'",
    "pot": "'{1,NULL,NULL}'", "pots": "'{2}'",
    "owner": "'by hand'", "nonce": "gen_random_uuid()", "ring_at": _NOBODY, "lease_seconds": "60",
    "ends": f"""'[{{"job_id": "{UUID(int=1)}", "lease_token": "{UUID(int=2)}", "owner": "by hand",
  "status": "SUCCEEDED", "refund": 0, "snoozes": 0, "result": "{{}}"}}]'""",
    "or_fail": "false",
})  # fmt: skip


def pasted(name: str) -> str:
    statement = prepared(name)
    text, short = statement.text.decode().rstrip(), re.sub(r"\W", "_", name)
    if not statement.names:
        return f"PREPARE {short} AS\n{text};\n\nEXECUTE {short};\n"
    types = ", ".join(_type(text, number) for number in range(1, len(statement.names) + 1))
    values = ",\n".join(f"  /* {each} */ {EXAMPLES.get(each, 'NULL')}" for each in statement.names)
    return f"PREPARE {short} ({types}) AS\n{text};\n\nEXECUTE {short} (\n{values}\n);\n"


def _type(text: str, number: int) -> str:
    """What the statement itself says; else PostgreSQL finds it out."""
    cast = re.search(rf"\${number}::(double precision|\w+)((?:\[\])?)", text)
    return "unknown" if cast is None else cast[1] + cast[2]


if __name__ == "__main__":
    sys.stdout.write(pasted(sys.argv[1]))
