"""What jobs die of: some causes often, some seldom, and some in words that hardly come twice."""

# {n}: a number; {id}: an id; {word}: one of some hundred names.
_OFTEN: tuple[tuple[str, bool, str], ...] = (
    ("WEBHOOK_FAILED", True, "erp.example answered 503, after {n} ms"),
    ("WEBHOOK_FAILED", True, "erp.example answered 502: <html><title>Bad Gateway</title>, request {id}"),
    ("WEBHOOK_TIMEOUT", True, "hooks.example did not answer within 10 s"),
    ("VALIDATION_ERROR", False, "bom.csv was rejected with {n} mistakes; send a corrected version"),
    ("VALIDATION_ERROR", False, 'payload: Expected `int`, got `str` - at `$.options.depth`; "{word}"'),
    ("RULE_ASSERTION_FAILED", False, "the shares of {word} add up to 1{n}.5 %, not to 100 %"),
    ("UNIT_MISMATCH", False, "carbon.total: kg and kWh cannot be added, in line {n}"),
    ("NOT_FOUND", False, "content_sha256: no blob {id}; send the document first"),
    ("HANDLER_TIMEOUT", True, "still running after {n} s"),
    ("CHILD_DIED", True, "the child ended with signal 9 at {n} MiB"),
    ("COMMAND_FAILED", True, "command 'nightly-report' ended with code 1: no route to host 10.0.{n}.1"),
    ("INTERNAL_ERROR", True, "KeyError: '{word}'"),
    ("SIGNING_KEY_MISSING", False, "the worker's key 'line-{n}' is not registered"),
    ("PASSPORT_INCOMPLETE", False, "{n} points that the law asks for are missing"),
)
_SELDOM = tuple(
    ("INTERNAL_ERROR", True, f"{error}: {subject} {verb}, {{id}}")
    for error in ("ValueError", "TypeError", "OSError", "ZeroDivisionError")
    for subject in ("the cell", "the row", "the header of {word}", "the sheet", "the archive")
    for verb in ("cannot be read", "is not there", "has no unit", "was moved", "is empty")
)
CAUSES = [
    (number, *cause) for number, cause in enumerate([*(_OFTEN * 40), *_SELDOM])
]  # how often each one comes is how often it stands here
