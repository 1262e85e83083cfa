"""Who signs for whom: the installation's key is one tenant's, and each further one has its own."""

import json
from base64 import b64encode
from pathlib import Path

import pytest

from bpc_worker import registry
from bpc_worker.config import load as config
from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.keys import configured_signer
from bpc_worker.pipeline.session import open_pipeline
from tests.support.database import Database

OURS = {
    "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": b64encode(bytes(range(32))).decode(),
    "BPC_SIGNING_KEY_ID": "installation",
}
PROD = OURS | {"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql://u@h/d?sslmode=verify-full"}


async def signer(db: Database, tenant: str, env: dict[str, str]) -> str:
    settings = config.load(env=env)
    async with open_pipeline(settings, registry.load(), db.url_as("bpc_app"), tenant) as pipeline:
        return (await configured_signer(pipeline)).key_id


async def test_in_production_a_further_tenant_needs_a_key_of_its_own(db: Database, tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        db.tenant(name)
    (tmp_path / "seed").write_text(b64encode(bytes(range(1, 33))).decode())
    own = {"tenant": "third", "key_id": "third-1", "private_key_file": str(tmp_path / "seed")}
    env = PROD | {"BPC_SIGNING_KEYS": json.dumps([own])}

    assert await signer(db, "first", env) == "installation"
    assert await signer(db, "third", env) == "third-1"
    with pytest.raises(Permanent, match="tenant 'second' has no signing key of its own") as caught:
        await signer(db, "second", env)
    assert caught.value.code == "CONFIG_MISSING"


async def test_the_key_of_the_installation_is_of_the_first_without_one(db: Database, tmp_path: Path) -> None:
    for name in ("first", "second"):
        db.tenant(name)
    (tmp_path / "seed").write_text(b64encode(bytes(range(1, 33))).decode())
    by_id = {"tenant": str(db.tenant("first")), "key_id": "f", "private_key_file": str(tmp_path / "seed")}
    env = PROD | {"BPC_SIGNING_KEYS": json.dumps([by_id])}

    assert await signer(db, "first", env) == "f"
    assert await signer(db, "second", env) == "installation"


async def test_elsewhere_one_key_signs_for_all(db: Database) -> None:
    for name in ("first", "second"):
        db.tenant(name)

    assert {await signer(db, name, OURS) for name in ("first", "second")} == {"installation"}
