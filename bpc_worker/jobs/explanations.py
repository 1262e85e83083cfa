"""What every error code means, what usually causes it, and what to do: for whoever finds one on a job."""

from dataclasses import dataclass

from bpc_worker.jobs.errors import Code


@dataclass(frozen=True, slots=True)
class Explanation:
    """`retryable`: the worker tries again by itself; otherwise the job is FAILED at once."""

    meaning: str
    causes: tuple[str, ...]
    actions: tuple[str, ...]
    retryable: bool = False


_RETRY = "then run the job again: `bpc-worker jobs retry ID`, or UPDATE jobs SET status = 'QUEUED'"
_RULES = "`bpc-worker rules check FILE` shows the place, underlined"


def _permanent(meaning: str, *causes: str, do: tuple[str, ...]) -> Explanation:
    return Explanation(meaning, causes, do)


def _retryable(meaning: str, *causes: str, do: tuple[str, ...]) -> Explanation:
    return Explanation(meaning, causes, do, retryable=True)


EXPLANATIONS: dict[Code, Explanation] = {
    Code.CONFIG_MISSING: _permanent(
        "The worker lacks a setting that this job needs.",
        "a command whose program is not there, no disclosure key, a migration that is not this release's",
        do=("`bpc-worker doctor` names what is missing; set it for every worker", _RETRY),
    ),
    Code.NOT_FOUND: _permanent(
        "Something that the payload names does not exist for this tenant.",
        "a wrong id, another tenant's id, a row that was never committed",
        do=("compare the ids in the payload with `… list`, and queue the job anew",),
    ),
    Code.FORBIDDEN: _permanent(
        "The job asks for something that its tenant or the configuration does not allow.",
        "a command that `commands` does not name, a file outside `ingest.folders`, another's tenant_id",
        do=("correct whoever queues it; widen the settings only if that is meant",),
    ),
    Code.VALIDATION_ERROR: _permanent(
        "The input is not what the handler or the document's kind asks for.",
        "a field that is missing, misspelt or of another type; a document with a wrong number format",
        do=(
            "`last_error.detail` has the place; for documents `bpc-worker document show ID`",
            "correct the input, and send or queue it anew",
        ),
    ),
    Code.IDEMPOTENCY_CONFLICT: _permanent(
        "The same idempotency key came with another payload.",
        "a key that does not depend on everything that matters, a program that counts from one again",
        do=("find the first job by its key; give the other work a key of its own",),
    ),
    Code.EVENT_VERSION_CONFLICT: _retryable(
        "Two transactions wanted to append to the same chain of events.",
        "several jobs about one passport or document at the same time",
        do=("nothing: it is tried again; if it stays, look for a job that is queued over and over",),
    ),
    Code.SNAPSHOT_SEALED: _permanent(
        "The snapshot is sealed: nothing more goes into it.",
        "a fact was to be added after BUILD_SNAPSHOT sealed it",
        do=("make another: `bpc-worker snapshot create`",),
    ),
    Code.SNAPSHOT_NOT_READY: _permanent(
        "The snapshot is not sealed yet, and a passport needs one that is.",
        "COMPILE_PASSPORT was queued by hand, before or without `snapshot seal`",
        do=("`bpc-worker snapshot seal ID --wait`", _RETRY),
    ),
    Code.RULE_PKG_NOT_PUBLISHED: _permanent(
        "The version of the rules is not published.",
        "it is a DRAFT, its tests did not pass, or it is RETIRED",
        do=("`bpc-worker rules run-tests NAME --wait`, `bpc-worker rules publish NAME`", _RETRY),
    ),
    Code.RULE_TESTS_FAILED: _permanent(
        "The rules' own tests do not pass, so that version cannot be published.",
        "a rule or an expectation is wrong",
        do=("`bpc-worker rules test FILE` shows the cases; correct the text and add it as a new version",),
    ),
    Code.RULE_PARSE_ERROR: _permanent(
        "The text of the rules is not in their language.",
        "a typing error, a construct of another language",
        do=(_RULES, "add the corrected text as a new version"),
    ),
    Code.RULE_TYPE_ERROR: _permanent(
        "The rules combine values that do not go together.",
        "a text where a number is meant, a list without an aggregate, a field that may be missing",
        do=(_RULES, "add the corrected text as a new version"),
    ),
    Code.RULE_CYCLE_DETECTED: _permanent(
        "Fields of the rules depend on one another in a circle.",
        "a field that uses itself by way of others",
        do=(_RULES, "break the circle, and add the text as a new version"),
    ),
    Code.RULE_LIMIT_EXCEEDED: _permanent(
        "Evaluating the rules took more steps, memory or depth than is allowed.",
        "a list that is much longer than expected, nested loops over facts",
        do=("look at the size of the snapshot; simplify the rule that the message names",),
    ),
    Code.RULE_ASSERTION_FAILED: _permanent(
        "An assertion of the rules does not hold for these facts.",
        "a document with an implausible value, or a rule that is too strict",
        do=(
            "the message quotes the assertion and its field, the build also the values and their documents",
            "correct the document, or publish better rules",
        ),
    ),
    Code.DIVISION_BY_ZERO: _permanent(
        "A rule divides by a value that is zero here.",
        "a fact that is 0 or missing in the document",
        do=("`bpc-worker document facts ID` shows the values; correct the document, or guard the rule",),
    ),
    Code.UNIT_MISMATCH: _permanent(
        "Quantities of different kinds were added or compared.",
        "a document gives another unit than the rules expect, kWh against kg",
        do=("the message names both units; correct the document or the rule",),
    ),
    Code.PROOF_TOO_LARGE: _permanent(
        "The proof of the passport is larger than `limits.proof_bytes`.",
        "a very long list of facts under one field",
        do=("raise BPC_LIMITS_PROOF_BYTES on every worker, or aggregate earlier", _RETRY),
    ),
    Code.PAYLOAD_TOO_LARGE: _permanent(
        "A document or the passport's payload is larger than its limit.",
        "an image or an archive sent as a document, a field with a long list",
        do=("send less, or raise BPC_LIMITS_DOCUMENT_BYTES or BPC_LIMITS_PAYLOAD_BYTES", _RETRY),
    ),
    Code.RECEIPT_TOO_LARGE: _permanent(
        "The signed receipt is larger than `limits.receipt_bytes`.",
        "very long names or ids",
        do=("shorten them, or raise BPC_LIMITS_RECEIPT_BYTES on every worker", _RETRY),
    ),
    Code.QR_CAPACITY: _permanent(
        "The text for the QR code does not fit into the largest code.",
        "a very long address or serial number",
        do=("shorten what goes into it: a code that a telephone reads has about 200 characters",),
    ),
    Code.SIGNING_KEY_MISSING: _permanent(
        "The worker has no signing key, or the tenant's registry does not know it as ACTIVE.",
        "a worker without BPC_SIGNING_…, a key that was never added, retired or revoked",
        do=("`bpc-worker doctor`, then `bpc-worker keys add --tenant NAME`", _RETRY),
    ),
    Code.SIGNATURE_INVALID: _permanent(
        "A signature does not fit the bytes or the key.",
        "stored bytes were changed, or the registry has another key under that name",
        do=("take it seriously: `bpc-worker audit verify --tenant NAME` names the first bad position",),
    ),
    Code.RECEIPT_MISMATCH: _permanent(
        "A passport version is not what its inputs give, so it was not signed, or did not come into force.",
        "rows that no worker of ours wrote, a child that was taken over, a snapshot or rules without their "
        "event; or stored bytes that were changed",
        do=(
            "take it seriously: `detail.member` says what differs; find out who wrote the row",
            "`bpc-worker audit verify --tenant NAME`, then `bpc-worker passport build FOLDER --again`",
        ),
    ),
    Code.PASSPORT_INCOMPLETE: _permanent(
        "A passport version lacks what the law asks for, or has a finding that stops; it is not in force.",
        "documents that were not sent, values that no rule could use, a condition that nobody declared",
        do=(
            "`bpc-worker passport gaps SERIAL --tenant NAME` says which document would bring each point",
            "build it again with that",
            "or let who has the role bpc_release answer for it: `passport activate --despite REASON`",
        ),
    ),
    Code.REPLAY_MISMATCH: _permanent(
        "Compiling the stored inputs again gave other bytes than those that were signed.",
        "stored inputs were changed, or another build of the compiler",
        do=("`bpc-worker audit verify`; compare compiler_build_id; do not sign until it is understood",),
    ),
    Code.WEBHOOK_FAILED: _retryable(
        "The receiver of a webhook answered with an error, or not in HTTP, or could not be reached.",
        "a bug or an outage at the receiver, a wrong path, a redirect (nobody follows it), "
        "a name without an address, an expired certificate",
        do=("nothing at first: it is tried again; then ask the receiver, with the delivery's id",),
    ),
    Code.WEBHOOK_TIMEOUT: _retryable(
        "The receiver of a webhook did not answer in time.",
        "it does its work before it answers, or is overloaded",
        do=("nothing at first: it is tried again; receivers should answer first and work later",),
    ),
    Code.WEBHOOK_BLOCKED: _permanent(
        "The address of a webhook is not one that may be called.",
        "it leads to an address that is not public, or to a port that `webhook.ports` does not name; "
        "it is plain http in production, or has a user name in it",
        do=(
            "correct the endpoint's address; the message says what is wrong with it",
            "a receiver in your own network: BPC_WEBHOOK_PORTS, BPC_WEBHOOK_ALLOW_CIDRS (in prod …_REASON)",
        ),
    ),
    Code.WEBHOOK_GONE: _permanent(
        "The receiver said that the endpoint is gone for good (410).",
        "it was removed at the receiver",
        do=("remove or correct the endpoint",),
    ),
    Code.COMMAND_FAILED: _retryable(
        "The program that RUN_COMMAND started ended with an error.",
        "see `detail`: exit code, signal, and the end of what it wrote",
        do=("run the program by hand with the same input", _RETRY),
    ),
    Code.COMMAND_TIMEOUT: _retryable(
        "The program that RUN_COMMAND started did not end in time, and was killed.",
        "too much input, a hanging network, `timeout_seconds` of the command too small",
        do=("raise the command's timeout_seconds, or give it less to do", _RETRY),
    ),
    Code.QUEUE_FULL: _permanent(
        "There are already as many queued jobs as `jobs.max_queued` allows, so this one was not taken.",
        "workers are away or too slow, or something queues without end",
        do=("`bpc-worker doctor`; start more workers, or raise BPC_JOBS_MAX_QUEUED; then queue it anew",),
    ),
    Code.RATE_LIMITED: _retryable(
        "A rate limit has been used up; the job waits without losing an attempt.",
        "`rate_limits` in the configuration, or the receiver of a webhook said so (429)",
        do=("nothing; raise the limit if it waits for too long",),
    ),
    Code.LEASE_EXPIRED: _retryable(
        "The worker that had the job was not heard of for a whole lease.",
        "the process was killed (memory?), the machine froze, the database was away for long",
        do=(
            "look for the end of the old worker, `lease_owner` in job_events: out of memory is usual",
            "a job that does this every time kills its worker: find out with what input",
        ),
    ),
    Code.QUEUE_UNAVAILABLE: _retryable(
        "The broker was away while the job ran; the attempt is given back.",
        "RabbitMQ restarted, the network was cut",
        do=("nothing: it is tried again; `bpc-worker doctor` looks at the broker",),
    ),
    Code.DB_UNAVAILABLE: _retryable(
        "The database was away while the job ran; the attempt is given back.",
        "a restart, a failover, too many connections, a full disk",
        do=("nothing: it is tried again; `bpc-worker doctor` looks at the database",),
    ),
    Code.HANDLER_TIMEOUT: _retryable(
        "The attempt took longer than its time-out.",
        "more work than usual, a slow service, a handler that waits without limit",
        do=("raise BPC_WORKER_JOB_TIMEOUT_SECONDS, or the handler's own time-out", _RETRY),
    ),
    Code.CHILD_DIED: _retryable(
        "The child process that computed for the job died.",
        "its memory or CPU limit; the system killed it, or the zygote that forked it",
        do=("raise BPC_WORKER_CHILD_MEMORY_MB or …_CPU_SECONDS if the input is that large", _RETRY),
    ),
    Code.INTERNAL_ERROR: _retryable(
        "A handler raised an exception that it does not know: a bug, until shown otherwise.",
        "a handler of your own, a rare case in ours",
        do=("the log has the traceback (`handler_bug`, with the job's id); correct the handler", _RETRY),
    ),
}
