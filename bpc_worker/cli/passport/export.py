"""The command that hands passport versions out as files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpc_worker.cli._common.options import FILE, config_option, tenant_option
from bpc_worker.cli._common.output import EXIT_FAILED, EXIT_USAGE, fail, refused, tell
from bpc_worker.cli._common.sessions import in_pipeline
from bpc_worker.cli.passport import VERSION_ID, passport
from bpc_worker.cli.passport.told import of_report
from bpc_worker.core.base.audience import AUDIENCES, PUBLIC
from bpc_worker.domain.states import PassportStatus

if TYPE_CHECKING:  # heavy: imported where a command needs it, so that --help is quick
    from collections.abc import Sequence

    from bpc_worker.domain.exporting import File
    from bpc_worker.domain.stored import Row

_MOST = 1000
_ENDINGS = {"bundle": ".zip", "view": ".sd-jwt", "label": ".pdf"}


@passport.command("export", epilog=VERSION_ID)
@click.argument("wanted", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--out", required=True, type=FILE, metavar="DIR_OR_FILE",
    help="An existing folder; of one version also a file that ends in .zip, .sd-jwt or .pdf.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["bundle", "view", "dpp", "label"]),
    help="Everything (bundle), or what one audience may see: signed (view), or as JSON after EN 18223 with "
    "the view beside it (dpp); or a label for the battery as PDF (label).  "
    "[default: bundle, with --audience view]",
)  # fmt: skip
@click.option(
    "--audience", type=click.Choice([*AUDIENCES]),
    help=f"Only what this audience may see.  [default: {PUBLIC}, where there is one]",
)  # fmt: skip
@tenant_option
@config_option
def export(
    wanted: tuple[str, ...],
    *,
    out: Path,
    form: str | None,
    audience: str | None,
    tenant: str,
    config_path: str | None,
) -> None:
    r"""Write versions as bundles or as what one audience may see, and print the names of the files.

    The same version is the same bytes every time, of the format dpp for as long as its status is the same.
    A bundle has everything, the suppliers' facts too. What is there already is never overwritten. The audit
    trail of the passport tells of it. EXPORT_PASSPORT is the same as a job.

    \b
    Example: bpc-worker passport export HLS-EV78-2028-000417 --out out --audience public --tenant acme
    """
    from bpc_worker.domain.exporting import Format, Wanted
    from bpc_worker.pipeline.export import export_all

    chosen = form or ("bundle" if audience is None else "view")
    if chosen in {"bundle", "label"} and audience is not None:
        fail(EXIT_USAGE, f"--audience: a {chosen} has none", "leave it out, or choose --format view or dpp")
    _check_out(out, chosen, len(wanted))
    of_each = Wanted(format=Format(chosen), audience=audience)
    in_pipeline(config_path, tenant, export_all, wanted, of_each, _Target(out).write)
    if chosen == "bundle":
        tell("it has all fields and the suppliers' facts; --audience makes one that can be handed on")


def _check_out(out: Path, form: str, count: int) -> None:
    if count > _MOST:
        fail(EXIT_USAGE, f"{count} versions", f"at most {_MOST} in one call")
    if out.is_dir() or (count == 1 and form in _ENDINGS and out.suffix == _ENDINGS[form]):
        return
    hint = f"make it, or name a file that ends in {_ENDINGS[form]}" if form in _ENDINGS else "make it"
    fail(EXIT_USAGE, f"--out {out}: there is no such folder", hint)


class _Target:
    """The folder or the file that --out names."""

    def __init__(self, out: Path) -> None:
        self._out = out

    def write(self, row: "Row", files: "Sequence[File]") -> None:
        from bpc_worker.domain.gap_reports import read_report
        from bpc_worker.files.writing import ExportFileError, write_new

        for file in files:
            folder, name = (
                (self._out, file.name) if self._out.is_dir() else (self._out.parent, self._out.name)
            )
            with refused(
                ExportFileError, "name a folder that can be written", what="--out ", code=EXIT_FAILED
            ):
                added = write_new(folder, name, file.data)
            click.echo(folder / name)
            if not added:
                tell("it was there already, with the same bytes")
        tell(*of_report(read_report(row.gaps)))
        if row.status != PassportStatus.ACTIVE:
            tell(f"the version is {row.status}, which only the format dpp says")
