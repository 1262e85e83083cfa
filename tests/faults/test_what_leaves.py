"""One battery built twice under two disclosure keys: no hash that leaves is in both, none is unsalted."""

from bpc_worker.postgres.embedded.server import Server
from tests.support.database import database
from tests.support.leaving import built
from tests.support.outgoing import listing, shared


def test_views_events_webhooks_results_and_proofs_have_no_hash_in_common(server: Server) -> None:
    with database(server) as first, database(server) as second:
        one, other = built(first, b"1" * 32), built(second, b"2" * 32)

    assert [str(each) for each in listing(one) if each.salt is None] == []
    assert [value.hex() for value in shared(one, other)] == []
    assert {*one.open.values()} & one.values() & other.values()  # rules and keys are the same
