"""The public door while its database is away: what it kept, with a mark, then nothing; and back by itself."""

from urllib.parse import urlsplit

from bpc_worker.pipeline.passports import activate
from bpc_worker.postgres.embedded.server import Server
from tests.support.serving import Answer, Serving, serving
from tests.support.signed import signed_passport
from tests.support.worker import until

SHORT = {"BPC_PUBLIC_KEPT_SECONDS": 1, "BPC_PUBLIC_STALE_SECONDS": 25}


def test_passports_are_shown_for_a_while_and_say_since_when(own_server: Server) -> None:
    with signed_passport(own_server) as signed:
        signed.path.call(lambda pipeline: activate(pipeline, str(signed.version)))
        identifier = urlsplit(
            str(signed.db.one("SELECT unique_identifier FROM passports")["unique_identifier"])
        )
        login = {"BPC_PUBLIC_DATABASE_URL": signed.db.url_as("bpc_public")}

        def ask(running: Serving, accept: str = "text/html") -> Answer:
            headers = {"Host": identifier.netloc, "Accept": accept}
            return running.ask("public", identifier.path, headers=headers)

        with serving(signed.db.url_as("bpc_web"), "public", **(login | SHORT)) as running:
            before = ask(running)
            own_server.stop("immediate")
            try:
                until(lambda: "has not answered since" in ask(running).text, within=20, what="the mark")
                marked, view = ask(running), ask(running, "application/dc+sd-jwt")
                until(lambda: ask(running).status == 503, within=60, what="503")
                late = ask(running)
            finally:
                own_server.start({"max_connections": "200"})
            until(lambda: ask(running).status == 200, within=60, what="the page")
            after = ask(running)

    assert "In force as of" in before.text
    assert 'class="badge grey"' in marked.text
    assert "In force as of" in marked.text
    assert marked.headers["cache-control"] == "public, max-age=0, must-revalidate"
    assert int(marked.headers["age"]) >= 0
    assert view.status in {200, 503}  # it was never asked for before
    assert (late.status, "retry-after" in late.headers) == (503, True)
    assert "has not answered since" not in after.text
