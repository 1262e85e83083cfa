"""RUN_RULE_TESTS: a draft of rules is validated by its own tests, or told which of them fails."""

from typing import Annotated
from uuid import UUID

import msgspec

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.source import RuleError, render
from bpc_worker.core.rules.testing import PUBLISHABLE_CASES, TestResult, run_tests
from bpc_worker.domain.events import Happened, tell
from bpc_worker.domain.records import RulesText
from bpc_worker.handler_api import ChildTask, Code, Context, HandlerSpec, Payload, Permanent, Tx
from bpc_worker.rows import one

Seed = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


class RunRuleTests(Payload, frozen=True):
    rule_package_version_id: UUID
    seed: Seed = 0


class Request(msgspec.Struct, frozen=True):
    dsl: str
    seed: int


class Response(msgspec.Struct, frozen=True):
    passed: bool
    cases: int
    tests: list[TestResult]


def run(request: Request) -> Response:
    """In a child: rules may be long, and are written by others."""
    try:
        report = run_tests(load(request.dsl), seed=request.seed)
    except RuleError as error:
        raise Permanent(error.code, render(request.dsl, error)) from error
    return Response(report.passed, report.cases, [*report.results])


RUN = ChildTask(name="handlers.run_rule_tests:RUN", request=Request, response=Response, run=run)


async def handle(payload: RunRuleTests, ctx: Context) -> None:
    params = {"tenant_id": ctx.job.tenant_id, "rule_package_version_id": payload.rule_package_version_id}
    rules = one(await ctx.read("rules/read", params), RulesText, "version of a rule package")
    report = await ctx.child(RUN, Request(rules.dsl, payload.seed))

    async def write(tx: Tx) -> None:
        await _write(tx, payload, ctx, rules, report)

    if _publishable(report):
        await ctx.complete(write, result={"cases": report.cases, "tests": len(report.tests)})
    else:
        failed = [test for test in report.tests if test.failure is not None]
        detail = {"failed": [{"test": test.name, "failure": test.failure} for test in failed[:5]]}
        await ctx.reject(write, Permanent(Code.RULE_TESTS_FAILED, _why(report, failed), detail=detail))


def _publishable(report: Response) -> bool:
    return report.passed and report.cases >= PUBLISHABLE_CASES


def _why(report: Response, failed: list[TestResult]) -> str:
    if failed:
        return f"{len(failed)} of {len(report.tests)} tests fail, the first of them {failed[0].name}"
    return f"{report.cases} cases pass, {PUBLISHABLE_CASES} are needed: add tests or cases"


async def _write(tx: Tx, payload: RunRuleTests, ctx: Context, rules: RulesText, report: Response) -> None:
    params: dict[str, object] = {
        "tenant_id": ctx.job.tenant_id,
        "rule_package_version_id": rules.rule_package_version_id,
    }
    run_of_tests = {
        "job_id": ctx.job.job_id,
        "seed": payload.seed,
        "cases": report.cases,
        "passed": report.passed,
        "report": msgspec.json.encode(report.tests).decode(),
    }
    await tx.query("rules/add_run", params | run_of_tests)
    if _publishable(report) and await tx.query("rules/validate", params):
        happened = Happened(
            event_type="RULES_VALIDATED",
            aggregate_type="rules",
            aggregate_id=rules.rule_package_version_id,
            payload={"dsl_sha256": rules.dsl_sha256.hex(), "cases": report.cases, "seed": payload.seed},
        )
        await tell(tx, ctx.job, happened)


SPEC = HandlerSpec(job_type="RUN_RULE_TESTS", payload=RunRuleTests, handle=handle, child_tasks=(RUN,))
