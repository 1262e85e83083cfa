"""What a receipt's tests_sha256 is the hash of: the tests of a rule text, as they are written."""

from bpc_worker.core.rules.parser import parse
from bpc_worker.core.rules.source import Limits


def text_of_tests(source: str, limits: Limits | None = None) -> str:
    """Every example and property, in the order of the text, joined by a line feed; nothing between them."""
    tree = parse(source, limits or Limits())
    spans = sorted([*(each.span for each in tree.examples), *(each.span for each in tree.properties)])
    return "\n".join(source[span.start : span.end] for span in spans)
