"""DELIVER_WEBHOOK jobs to any URL, whatever the commands would say to it."""

from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.webhooks import add_endpoint
from tests.support.database import Database
from tests.support.pipeline import Pipeline


class Deliveries:
    """Endpoints by URL, each with deliveries of one attempt."""

    def __init__(self, db: Database, **settings: str) -> None:
        self._db = db
        self._settings = settings  # with which secrets are sealed
        self._tenant = db.tenant()
        self._endpoints: dict[str, str] = {}

    def add(self, *urls: str) -> None:
        """As if they had been registered by a program that checks nothing."""

        async def work(pipeline: PipelineSession) -> list[str]:
            made = [
                await add_endpoint(
                    pipeline, "https://example.com/", event_types=("PASSPORT_SIGNED",), max_attempts=5
                )
                for _ in urls
            ]
            return [str(each.webhook_endpoint_id) for each in made]

        made = Pipeline(self._db).call(work, **self._settings)
        with self._db.connect() as connection, connection.transaction():
            connection.execute(
                "SET LOCAL session_replication_role = replica"
            )  # an endpoint keeps its address
            for url, endpoint in zip(urls, made, strict=True):
                change = "UPDATE webhook_endpoints SET url = %s WHERE webhook_endpoint_id = %s"
                connection.execute(change, [url, endpoint])
        self._endpoints.update(zip(urls, made, strict=True))

    def queue(self, url: str) -> str:
        """The job of one delivery to it."""
        if url not in self._endpoints:
            self.add(url)
        with self._db.connect() as connection, connection.transaction():
            connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [self._tenant])
            made = connection.execute("SELECT bpc_test_webhook(%s) AS id", [self._endpoints[url]]).fetchone()
        assert made is not None
        job = self._db.one("SELECT job_id FROM jobs WHERE idempotency_key = %s", [str(made["id"])])
        return str(job["job_id"])

    def flood(self, url: str, count: int) -> None:
        """As many deliveries to it, all of them due."""
        with self._db.connect() as connection, connection.transaction():
            connection.execute("SELECT set_config('bpc.tenant_id', %s, true)", [self._tenant])
            connection.execute(
                "SELECT bpc_test_webhook(%s) FROM generate_series(1, %s)", [self._endpoints[url], count]
            )

    def status(self, job: str) -> str:
        """Of its delivery."""
        return str(self.delivery(job)["status"])

    def delivery(self, job: str) -> dict[str, object]:
        return self._db.one(
            "SELECT d.* FROM webhook_deliveries d JOIN jobs j"
            " ON j.idempotency_key = d.webhook_delivery_id::text WHERE j.job_id = %s",
            [job],
        )
