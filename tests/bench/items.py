"""Ten thousand serials of one model: `python -m tests.bench.items [serials]`.

One model file, one list, one command. The command and its worker are killed in the middle; the same command
is given again and ends it. Prints what the command prints, how long it took, and by how much the tables grew,
their indexes included, for each serial. Nothing is compiled.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bpc_worker.documents.vocabulary import VALUES, Entry, Kind, Scope
from bpc_worker.pipeline.products import ProductData, add_product
from tests.support.database import Database, database, make_template, postgres
from tests.support.items import PRODUCT
from tests.support.pipeline import keyed
from tests.support.worker import COMMAND, environment, worker

SERIALS = 10_000
TABLES = (
    "passports", "passport_documents", "facts", "fact_sources", "data_snapshots", "snapshot_items", "events",
    "event_heads", "event_leaves", "event_leaf_heads",
)  # fmt: skip
_VALUES = {Kind.DECIMAL: "12.5", Kind.INTEGER: "1500", Kind.BOOL: "true", Kind.MONTH: "2027-02"}
_URL, _TEXT = "https://example.com/document", "a text of the ordinary length of such a thing"


def model_file() -> str:
    """Every value of the vocabulary that is of a model."""
    rows = [
        f"{each.name};{_value(each)};{each.unit}" for each in VALUES.values() if each.scope == Scope.MODEL
    ]
    return "\n".join(["name;value;unit", *rows]) + "\n"


def _value(entry: Entry) -> str:
    if entry.name.endswith(("voltage_max_v", "temperature_max_c")):
        return "30"
    if entry.name == "carbon.absolute_t":
        return "0.05"  # four stages of 12.5 kg
    if entry.name.endswith("_pct"):
        return "1"
    texts = {Kind.URL: _URL, Kind.CHOICE: entry.choices[0] if entry.choices else ""}
    return _VALUES.get(entry.kind, texts.get(entry.kind, _TEXT))


def list_file(count: int) -> str:
    """Month, batch and the capacity that the end-of-line test found."""
    rows = [
        f"SN-{number:06};2027-02;B-{number // 100};{94 + number % 977 / 1000:.3f};"
        f"2027-02-{1 + number % 28:02}T12:{number % 60:02}:00Z;end-of-line test"
        for number in range(count)
    ]
    header = "serial;manufacturing_month;batch;measured.rated_capacity_ah;measured_at;source"
    return "\n".join([header, *rows]) + "\n"


def size(db: Database) -> dict[str, int]:
    return {
        table: int(str(db.one(f"SELECT pg_total_relation_size('{table}') AS size")["size"]))
        for table in TABLES
    }


def killed(db: Database, arguments: list[str], lines: int) -> None:
    """Begun, and killed after so many lines about how far it is; so is its worker."""
    env = environment(db.url_as("bpc_app"))
    with worker(db.url_as("bpc_worker")) as running:
        began = subprocess.Popen([*COMMAND, *arguments], env=env, stderr=subprocess.PIPE, text=True)
        assert began.stderr is not None
        for line in began.stderr:
            print(line, end="", flush=True)
            lines -= " of " in line
            if lines <= 0:
                break
        began.kill()
        began.wait()
        os.kill(running.pid, signal.SIGKILL)
    print("killed, the worker too; the same command again:", flush=True)


def main(count: int) -> int:
    with postgres() as server, TemporaryDirectory() as folder:
        make_template(server)
        with database(server) as db:
            path = keyed(db)
            path.call(lambda pipeline: add_product(pipeline, ProductData(identifier=PRODUCT, name="EV 78")))
            model, listed = Path(folder, "model.csv"), Path(folder, "serials.csv")
            model.write_text(model_file())
            listed.write_text(list_file(count))
            arguments = ["serials", "import", str(listed), "--product", PRODUCT, "--model", str(model)]
            arguments += ["--tenant", "acme", "--timeout", "1800"]
            before, began = size(db), time.monotonic()
            killed(db, arguments, lines=14)
            with worker(db.url_as("bpc_worker")):
                code = subprocess.run(
                    [*COMMAND, *arguments], env=environment(db.url_as("bpc_app")), check=False
                ).returncode
            seconds = time.monotonic() - began
            grown = {table: bytes_ - before[table] for table, bytes_ in size(db).items()}
    print(f"{seconds:.0f} s; with indexes {sum(grown.values()) / count:,.0f} bytes for each serial:")
    for table, bytes_ in grown.items():
        print(f"  {table:<20} {bytes_ / count:8,.0f}")
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SERIALS))
