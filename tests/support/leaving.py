"""Everything that leaves the house about a passport, gathered where it leaves.

`python -m tests.support.leaving` builds the example battery and lists every hash that leaves, with what is
hashed and with the salt in it; one without a salt, or one that nobody can explain, is exit 1.
"""

import io
import json
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypedDict
from uuid import UUID

import msgspec

from bpc_worker.core.audit.event_hash import Event, event_bytes
from bpc_worker.core.audit.event_proof import proof_bytes
from bpc_worker.core.base import base64url
from bpc_worker.core.base.canonical_json import encode
from bpc_worker.core.base.hashing import sha256
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.core.passport.disclosures import from_lines, parse_disclosure
from bpc_worker.core.passport.salts import Salts
from bpc_worker.core.passport.view import cut
from bpc_worker.core.proof.whole import written_out
from bpc_worker.core.rules.tests_text import text_of_tests
from bpc_worker.domain.exporting import Format, Wanted, files_of
from bpc_worker.pipeline.audit.checkpoints import Kept, write_checkpoint
from bpc_worker.pipeline.audit.events import ListedEvent, list_events
from bpc_worker.pipeline.audit.proofs import prove_consistency, prove_inclusion
from bpc_worker.pipeline.keys import add_key, list_keys
from bpc_worker.pipeline.passports import activate
from bpc_worker.pipeline.session import PipelineSession
from bpc_worker.pipeline.stored import read_version
from tests.support.database import NO_FSYNC, Database, database, make_template, postgres
from tests.support.outgoing import Leaving, listing
from tests.support.pipeline import Pipeline, pipeline
from tests.support.status_lists import KEY, register_key
from tests.support.waiting import until
from tests.support.webhook_receiver import Received, endpoint, receiver
from tests.support.worker import worker

AUDIENCES = ("public", "legitimate_interest", "authorities", "commission")
_EVENTS_AT_MOST = 1000


class Parts(TypedDict):
    """Of a version, as they are stored."""

    payload: bytes
    proof: bytes
    disclosures: bytes
    receipt: bytes
    snapshot: bytes
    disclosure_seed: bytes
    dsl: str
    qr_payload: str


def of_version(view: str, parts: Parts) -> Leaving:
    """Of a version: its views and its code, and what the hashes in them are of."""
    made, rules = Salts(parts["disclosure_seed"]), parts["dsl"]
    tests = text_of_tests(rules)
    leaving = Leaving(open={"rules": sha256(rules.encode()), "their tests": sha256(tests.encode())})
    leaving.texts = {f"view for {name}": cut(view, name) for name in AUDIENCES}
    leaving.texts["QR text"] = parts["qr_payload"]
    for text in view.split("~")[1:-1]:
        found = parse_disclosure(text)
        name = f"disclosure {found.name} {text[:8]}"
        leaving.preimages[name] = text.encode()
        leaving.salts[f"salt of {name}"] = found.salt
    claims = json.loads(base64url.decode(view.split(".")[1]))
    leaving.preimages |= {
        "payload": parts["payload"],
        "proof": bytes(parts["proof"]),
        "disclosures": bytes(parts["disclosures"]),
        "root of the proof": _root(parts["proof"]),
        "snapshot": parts["snapshot"],
        "fields": encode(claims["fields"]),
        "receipt": parts["receipt"],
    }
    leaving.salts |= {
        "salt_payload": made.payload,
        "salt_proof": made.proof,
        "salt_snapshot": bytes.fromhex(json.loads(parts["snapshot"])["salt"]),
    }
    return leaving


def _root(proof: bytes) -> bytes:
    """What the hash of the last step is of, as docs/formats.md says."""
    nodes = json.loads(written_out(bytes(proof)))["nodes"]
    last = nodes[-1]
    hashes = [nodes[child]["hash"] for child in last["children"]]
    return encode({"children_hashes": hashes, "data": last["data"], "id": last["id"], "type": last["type"]})


def built(db: Database, disclosure_key: bytes) -> Leaving:
    """The example battery by a real worker, with a receiver of all events, proofs and a registry."""
    path = pipeline(db)
    with tempfile.TemporaryDirectory() as folder, receiver(Path(folder)) as there:
        endpoint(path, there.url, there.settings, events="*")
        key = b64encode(disclosure_key).decode()
        register_key(db)
        with worker(db.url_as("bpc_worker"), BPC_DISCLOSURE_KEY=key, **there.settings, **KEY):
            state = path.ended(path.build())
            assert state.state == "DONE", state.errors
            path.call(lambda pipeline: activate(pipeline, str(state.passport_version_id)))
            until(lambda: _token(db), within=60, what="a status list")
            until(lambda: not _waiting(db), within=60, what="the deliveries")
        received = list(there.received)
    row = db.one(
        "SELECT v.*, s.canonical AS snapshot, r.dsl FROM passport_versions v JOIN data_snapshots s"
        " USING (snapshot_id) JOIN rule_package_versions r USING (rule_package_version_id)"
    )
    handed_out = path.call(lambda pipeline: _views(pipeline, str(row["passport_version_id"])))
    signed = handed_out[AUDIENCES[0]].split("~")[0]
    whole = "~".join([signed, *from_lines(bytes(row["disclosures"])), ""])  # type: ignore[call-overload]
    leaving = of_version(whole, row)  # type: ignore[arg-type]
    assert {name: leaving.texts[f"view for {name}"] for name in AUDIENCES} == handed_out
    leaving.texts["status list"] = _token(db)
    leaving.texts |= path.call(lambda pipeline: _dpps(pipeline, str(row["passport_version_id"])))
    _add_events(leaving, path)
    _add_deliveries(leaving, received)
    results = db.run("SELECT result FROM jobs WHERE result IS NOT NULL")
    leaving.texts["job results"] = json.dumps([row["result"] for row in results])
    keys = path.call(list_keys)
    leaving.texts["registry"] = json.dumps([b64encode(key.public_key).decode() for key in keys])
    leaving.open |= {f"key {key.key_id}": key.public_key for key in keys}
    return leaving


async def _views(pipeline: PipelineSession, version: str) -> dict[str, str]:
    stored = await read_version(pipeline, version)
    wanted = {name: Wanted(format=Format.VIEW, audience=name) for name in AUDIENCES}
    return {name: files_of(stored, form)[0].data.decode() for name, form in wanted.items()}


async def _dpps(pipeline: PipelineSession, version: str) -> dict[str, str]:
    stored = await read_version(pipeline, version)
    wanted = {name: Wanted(format=Format.DPP, audience=name) for name in AUDIENCES}
    return {
        f"{each.name} for {name}": each.data.decode()
        for name, form in wanted.items()
        for each in files_of(stored, form)
    }


def _token(db: Database) -> str:
    return "".join(str(row["token"] or "") for row in db.run("SELECT token FROM status_lists"))


def _waiting(db: Database) -> list[dict[str, object]]:
    return db.run("SELECT FROM webhook_deliveries WHERE status <> 'DELIVERED'")


def _add_deliveries(leaving: Leaving, received: Iterable[Received]) -> None:
    for number, one in enumerate(received):
        # Sixty-four bytes of an Ed25519 signature are no hash, and pieces of their base64 may look like one.
        told = dict(one.headers) | {
            "webhook-signature": one.headers["webhook-signature"].partition(" v1a,")[0]
        }
        headers = "\n".join(f"{name}: {value}" for name, value in told.items())
        leaving.texts[f"webhook {number}"] = f"{headers}\n\n{one.body.decode()}"
        signatures = one.headers["webhook-signature"].split()
        leaving.keyed[f"X-BPC-Signature {number}"] = bytes.fromhex(one.headers["x-bpc-signature"][7:])
        leaving.keyed[f"webhook-signature {number}"] = b64decode(signatures[0].removeprefix("v1,"))


def _add_events(leaving: Leaving, path: Pipeline) -> None:
    """Their list, a proof of each, checkpoints, and what all the hashes in them are of."""
    first, events, inclusions, last, consistency = path.call(_proofs)
    tenant_id = UUID(path.db.tenant(path.tenant))
    leaving.texts["events"] = json.dumps([_shown(each) for each in events])
    leaving.texts |= {f"proof of event {n}": text for n, text in enumerate(inclusions)}
    leaving.texts |= {"first checkpoint": first, "checkpoint": last, "proof of growth": consistency}
    for each in events:
        name = f"{each.event_type} {each.aggregate_version} of {each.aggregate_id}"
        said = msgspec.convert(each.payload, _Said)
        leaving.preimages |= {
            f"payload of {name}": encode(each.payload),
            f"event {name}": _bytes(each, tenant_id),
        }
        leaving.salts[f"salt_event of {name}"] = bytes.fromhex(said.salt)
        if said.public_key is not None:
            leaving.open[f"public key of {name}"] = bytes.fromhex(said.public_key)
    numbered = path.db.run("SELECT event_hash FROM event_leaves ORDER BY leaf_index")
    hashes = [bytes(row["event_hash"]) for row in numbered]  # type: ignore[call-overload]
    for text in (first, last):
        told = json.loads(text)
        leaving.preimages[f"heads of {told['heads_count']}"] = encode(told["heads"])
        _add_tree(leaving, hashes[: told["tree_size"]])


class _Said(msgspec.Struct):
    """Of an event's payload."""

    salt: str
    public_key: str | None = None


def _shown(event: ListedEvent) -> dict[str, object]:
    """As `audit events --json` shows it."""
    hashes = (event.payload_hash, event.prev_event_hash, event.event_hash)
    return {
        "event_id": str(event.event_id),
        "actor_id": event.actor_id,
        "payload": event.payload,
        "hashes": [None if each is None else each.hex() for each in hashes],
    }


async def _proofs(pipeline: PipelineSession) -> tuple[str, list[ListedEvent], list[str], str, str]:
    """Of all events, with something that happens between two checkpoints."""
    before, first = await _checkpoint(pipeline)
    await add_key(pipeline, "another-key", Ed25519Signer("another-key", b"n" * 32).public_key)
    after, last = await _checkpoint(pipeline)
    events = await list_events(pipeline, None, _EVENTS_AT_MOST)
    found = [await prove_inclusion(pipeline, each.event_id, after) for each in events]
    grown = await prove_consistency(pipeline, before, after)
    return first, events, [proof_bytes(each).decode() for each in found], last, proof_bytes(grown).decode()


async def _checkpoint(pipeline: PipelineSession) -> tuple[Kept, str]:
    file = io.BytesIO()
    kept = await write_checkpoint(pipeline, file)
    return kept, file.getvalue().decode()


def _bytes(event: ListedEvent, tenant_id: UUID) -> bytes:
    members = {name: getattr(event, name) for name in Event.__slots__ if name != "tenant_id"}
    return event_bytes(Event(tenant_id=tenant_id, **members), event.prev_event_hash)


def _add_tree(leaving: Leaving, hashes: Sequence[bytes]) -> None:
    """RFC 9162: leaves and the nodes above them."""
    level = [b"\0" + each for each in hashes]
    height = 0
    while level:
        named = {f"node {height}.{n} of {len(hashes)}": each for n, each in enumerate(level)}
        leaving.preimages |= named
        digests = [sha256(each) for each in level]
        pairs = [b"\1" + left + right for left, right in list(pairwise(digests))[::2]]
        if not pairs:
            break
        level = pairs + (level[-1:] if len(level) % 2 else [])
        height += 1


def main() -> int:
    with postgres(NO_FSYNC) as server:
        make_template(server)
        with database(server) as db:
            found = listing(built(db, bytes(range(32))))
    for each in found:
        print(each)
    bare = [each for each in found if each.salt is None]
    print(f"{len(found)} hashes leave, {len(bare)} of them without a salt")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
