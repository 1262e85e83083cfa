"""Labels from the command line, as real processes: with a database and without one, killed and run again."""

import os
import signal
import subprocess
from pathlib import Path

from bpc_worker.carrier.template import of_category
from tests.support.carriers import in_pdf, in_png, table
from tests.support.database import Database
from tests.support.waiting import until
from tests.support.worker import COMMAND, command

LABELS = 400
LINK = "https://id.example.eu/01/09506000134352/21"

Ended = subprocess.CompletedProcess[str]


def offline() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("BPC_", "PG"))}


def making(urls: Path, out: Path, *options: str) -> list[str]:
    given = ["--identifiers", str(urls), "--out", str(out), "--category", "lmt", "--capacity", "36 Ah"]
    return [*COMMAND, "carrier", "make", *given, *options]


def make(urls: Path, out: Path, *options: str) -> Ended:
    ran = subprocess.run(
        making(urls, out, *options), env=offline(), capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def alive(marks: str) -> list[str]:
    """Processes that have this text in their command line or were started by one that had."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marks in (process / "environ").read_text(errors="replace"):
                found.append(process.name)
        except OSError:
            continue
    return found


def test_labels_without_a_database_are_read_back(tmp_path: Path) -> None:
    urls, out = tmp_path / "urls.csv", tmp_path / "out"
    rows = [f"{LINK}/{number:06X},{metal}" for number, metal in ((0xA71, "Pb"), (0x3C04, ""), (0xFF021, ""))]
    urls.write_text("\n".join(["identifier,metals", *rows]))

    ran = make(urls, out, "--level", "Q", "--set", "product=Bike battery")

    assert (ran.returncode, ran.stdout) == (0, f"{out}/codes.csv\n")
    assert "3 of 3 codes" in ran.stderr
    for row in table(out):
        on_sheet = in_pdf(out / row["pdf"], of_category("lmt"), int(row["page"]), int(row["place"]))
        for found in (in_png((out / row["png"]).read_bytes()), on_sheet):
            assert (found.text, found.level) == (row["identifier"], "Q")
            assert found.module_mm >= 0.396
            assert found.side_mm >= 20
            assert found.quiet_modules >= 4


def test_what_must_not_be_printed_is_refused_by_name_and_counting_is_told(tmp_path: Path) -> None:
    urls, out = tmp_path / "urls.txt", tmp_path / "out"
    host = "https://id.example.eu/01"
    urls.write_text(
        f"{LINK}/BAT-0001\n{host}/09506000134353/21/B1\n{host}/02012345678903/21/B1\n"
        f"{host}/09812345678902/21/B1\n{LINK}/A%2FB\n"
    )

    ran = make(urls, out)

    assert ran.returncode == 2
    said = [line.partition(": line ")[2] for line in ran.stderr.splitlines()]
    assert said[0].startswith(f"1: {LINK}/BAT-0001 has 51 characters, 1 more than the EU registry takes (50)")
    assert said[1].startswith("2: GTIN 09506000134353: its check digit is 3")
    assert said[2].startswith("3: GTIN 02012345678903: the prefix 2 ")
    assert said[3].startswith("4: GTIN 09812345678902: the prefix 98 ")
    assert said[4].startswith("5: serial 'A/B': ")
    assert not out.exists()

    urls.write_text("".join(f"{LINK}/B{number:03}\n" for number in range(9)))
    ran = make(urls, out)
    assert ran.returncode == 0
    assert "these serials count up (B000, B001): strangers can read production numbers" in ran.stderr


def test_a_run_that_was_killed_is_ended_by_the_same_command(tmp_path: Path) -> None:
    urls, whole, out = tmp_path / "urls.txt", tmp_path / "whole", tmp_path / "out"
    urls.write_text("".join(f"{LINK}/{number * 7919 % 999983:06}\n" for number in range(1, LABELS)))
    options = ("--sheets-per-file", "1", "--processes", "2")
    assert make(urls, whole, *options).returncode == 0

    mark = f"BPC_TEST_MARK={tmp_path}"
    environment = offline() | dict([mark.split("=")])
    with subprocess.Popen(making(urls, out, *options), env=environment, stderr=subprocess.DEVNULL) as process:
        until(lambda: len([*out.glob("pdf/*.pdf")]) >= 2, within=60)
        process.send_signal(signal.SIGKILL)
    until(lambda: not alive(mark), within=30, what="its processes end with it")
    assert not (out / "codes.csv").exists()
    assert len(contents(out)) < len(contents(whole))

    assert make(urls, out, *options).returncode == 0
    assert contents(out) == contents(whole)


def test_serials_are_looked_up(db: Database, tmp_path: Path) -> None:
    db.tenant("acme")
    url = db.url_as("bpc_app")
    listed, out = tmp_path / "serials.csv", tmp_path / "out"

    def run(*arguments: object) -> Ended:
        return command(url, *map(str, arguments), BPC_TENANT="acme")

    options = ("--product", "EV78", "--category", "ev", "--capacity", "210 Ah", "--out", out)
    product = ("--gtin", "09506000134352", "--name", "Helios EV78")
    assert run("product", "add", "EV78", *product).returncode == 0
    assert (
        run("serials", "add", "7QK2M9X4TB", "B9", "--product", "EV78", "--longer-than-registry").returncode
        == 0
    )

    listed.write_text("serial\nB9\nC1\n")
    ran = run("carrier", "make", "--serials", listed, *options)
    assert ran.returncode == 3
    assert "EV78 has no C1 (1 of 2 serials)" in ran.stderr
    assert "bpc-worker serials add" in ran.stderr

    listed.write_text("serial\nB9\n7QK2M9X4TB\n")
    ran = run("carrier", "make", "--serials", listed, *options)
    assert ran.returncode == 0, ran.stderr
    rows = [*table(out)]
    assert [row["identifier"] for row in rows] == [
        "https://passports.example/01/09506000134352/21/B9",
        "https://passports.example/01/09506000134352/21/7QK2M9X4TB",
    ]
    assert [in_png((out / row["png"]).read_bytes()).text for row in rows] == [
        row["identifier"] for row in rows
    ]
    assert (out / "svg" / "7QK2M9X4TB.svg").exists()


def test_wrong_usage_says_what_to_type(tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text(f"{LINK}/B1\n")

    def said(*options: str) -> str:
        ran = subprocess.run(
            [*COMMAND, "carrier", "make", "--out", str(tmp_path / "out"), *options],
            env=offline(), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert ran.returncode == 2, ran.stderr
        return ran.stderr

    ours = ("--identifiers", str(urls), "--category", "ev")
    assert "say --category or --template" in said("--identifiers", str(urls))
    assert "say --serials with --product and --tenant, or --identifiers" in said("--category", "ev")
    assert "--serials needs --product and --tenant" in said("--category", "ev", "--serials", str(urls))
    assert "write it like manufacturer='Example SE'" in said(*ours, "--set", "x")
    assert "no capacity for '{capacity}'" in said(*ours)
    assert "0.33<=x<=10" in said(*ours, "--module-mm", "0.2")


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    urls, mine = tmp_path / "urls.txt", tmp_path / "mine.toml"
    urls.write_text(f"{LINK}/B1\n")
    printed = subprocess.run([*COMMAND, "carrier", "template", "ev"], capture_output=True, check=True).stdout
    mine.write_bytes(printed.replace(b'"{product}"', b'"{maker}"'))

    ran = subprocess.run(
        [*COMMAND, "carrier", "make", "--identifiers", urls, "--template", mine, "--capacity", "1 Ah",
         "--set", "maker=Example SE", "--one-per-page", "--out", tmp_path / "out"],
        env=offline(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    template = of_category("ev").one_per_page()
    [row] = table(tmp_path / "out")
    assert in_pdf(tmp_path / "out" / row["pdf"], template, 1, 1).text == f"{LINK}/B1"
