"""What `bpc-worker passport build` says about a build that is not done."""

from uuid import UUID

from bpc_worker.cli.passport.build import why_not_done
from bpc_worker.domain.states import BuildStatus
from bpc_worker.pipeline.builds.start import BuildState
from bpc_worker.pipeline.builds.watch import Trouble, Watched

BUILD = UUID(int=1)


def a_build(state: BuildStatus, *troubles: Trouble, errors: list[dict[str, object]] | None = None) -> Watched:
    found = BuildState(
        build_id=BUILD, passport_id=BUILD, state=state, documents=[], errors=errors,
        snapshot_id=None, passport_version_id=None,
        unique_identifier="https://passports.example/p/0123456789ABCDEF",
    )  # fmt: skip
    return Watched(found, [*troubles])


def test_jobs_that_gave_up_are_retried_with_a_command_that_is_installed() -> None:
    """A path to a psql script would help nobody: a wheel has none."""
    gone = [
        Trouble(UUID(int=7), "INGEST_DOCUMENT", "FAILED", "CONFIG_MISSING", "no folder"),
        Trouble(UUID(int=8), "PARSE_FACTS", "DEAD_LETTER", "LEASE_EXPIRED", None),
    ]

    assert why_not_done(a_build(BuildStatus.DOCUMENTS, *gone), 300) == [
        f"the job {UUID(int=7)} (INGEST_DOCUMENT) of the build is FAILED: CONFIG_MISSING: no folder",
        f"the job {UUID(int=8)} (PARSE_FACTS) of the build is DEAD_LETTER: LEASE_EXPIRED: None",
        f"mend the cause, then retry it: bpc-worker jobs retry {UUID(int=7)} {UUID(int=8)}",
        "the build goes on by itself",
    ]


def test_a_stopped_build_says_what_is_wrong_where() -> None:
    wrong: dict[str, object] = {"document": "bom.csv", "where": "line 2, mass_kg", "message": "no number"}

    assert why_not_done(a_build(BuildStatus.STOPPED, errors=[wrong, {"message": "alone"}]), 300) == [
        "the build was stopped; mend this, then run the same command again:",
        "  bom.csv: line 2, mass_kg: no number",
        "  alone",
    ]


def test_a_late_build_says_where_it_stands() -> None:
    assert why_not_done(a_build(BuildStatus.SNAPSHOT), 0.5) == [
        "not done within 0.5 s: it stands at SNAPSHOT, and workers go on with it",
        "the same command again watches it; --timeout waits longer",
    ]
