"""Vectors of BPC-CHECKPOINT-3, BPC-INCLUSION-1 and BPC-CONSISTENCY-1, from the text of docs/formats.md.

Like make_vectors.py, which hands over its own tools, it imports nothing of the product.
"""

import base64
import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

Json = dict[str, Any]
Change = Callable[[Json], object]

OLD_SIZE = 3
# In the order in which they became leaves: the first three of them with the old checkpoint.
EVENTS = [
    ("passport", "passport", 1), ("passport", "passport", 2), ("rules", "rules", 1),
    ("job", "job", 1), ("passport", "passport", 3), ("passport", "passport two", 1), ("rules", "rules", 2),
]  # fmt: skip


class Maker:
    def __init__(self, tools: ModuleType) -> None:
        self.tools = tools
        self.events: list[Json] = []
        last: dict[tuple[str, str], str] = {}
        for number, (kind, name, version) in enumerate(EVENTS):
            event = {
                "tenant_id": tools.id_of("tenant"),
                "aggregate_type": kind,
                "aggregate_id": tools.id_of(name),
                "aggregate_version": version,
                "event_type": "SOMETHING_HAPPENED",
                "occurred_at": f"2027-03-01T10:00:0{number}.000000Z",
                "actor_id": "user:auditor",
                "payload_hash": tools.digest_of(f"payload {number}"),
                "prev_event_hash": last.get((kind, name)),
            }
            self.events.append(event)
            last[kind, name] = tools.sha256(tools.canonical(event)).hex()
        self.leaves = [tools.sha256(tools.canonical(event)) for event in self.events]

    def heads(self, size: int) -> list[Json]:
        ends: dict[tuple[str, str], Json] = {}
        for event, digest in zip(self.events[:size], self.leaves, strict=False):
            names = ("aggregate_type", "aggregate_id", "aggregate_version")
            chain = event["aggregate_type"], event["aggregate_id"]
            ends[chain] = {name: event[name] for name in names} | {"event_hash": digest.hex()}
        return [ends[chain] for chain in sorted(ends)]

    def statement(self, size: int) -> Json:
        """What is signed."""
        heads = self.heads(size)
        return {
            "checkpoint_version": "BPC-CHECKPOINT-3",
            "tenant_id": self.tools.id_of("tenant"),
            "taken_at": f"2027-03-0{size + 1}T00:00:00.000000Z",
            "tree_size": size,
            "tree_root": self.tools.tree_hash(self.leaves[:size]).hex(),
            "heads_count": len(heads),
            "heads_sha256": self.tools.sha256(self.tools.canonical(heads)).hex(),
            "signing_key_id": "key-2027-1",
        }

    def signed(self, statement: Json) -> Json:
        digest = self.tools.sha256(self.tools.canonical(statement))
        signature = self.tools.sign(self.tools.KEY_SEED, b"BPC-CHECKPOINT-3\0" + digest)
        return statement | {"signature": base64.b64encode(signature).decode()}

    def inclusion(self, index: int, size: int) -> Json:
        return {
            "proof_version": "BPC-INCLUSION-1",
            "checkpoint": self.signed(self.statement(size)),
            "event": self.events[index],
            "leaf_index": index,
            "path": self.tools.hexes(self.tools.path(index, self.leaves[:size])),
        }

    def consistency(self, old: int, new: int) -> Json:
        return {
            "proof_version": "BPC-CONSISTENCY-1",
            "old": self.signed(self.statement(old)),
            "new": self.signed(self.statement(new)),
            "path": self.tools.hexes(self.tools.subproof(old, self.leaves[:new], whole=True)),
        }


def vectors(tools: ModuleType) -> dict[str, Json]:
    maker, size = Maker(tools), len(EVENTS)
    text = {index: tools.canonical(maker.inclusion(index, size)).decode() for index in range(size)}
    old = tools.canonical(maker.consistency(OLD_SIZE, size)).decode()
    return {
        "checkpoints": {
            "description": "of the first three and of all of seven events; the examples of docs/formats.md",
            "input": {"seed": tools.KEY_SEED.hex(), "events": maker.events},
            "expected": {
                "event_hashes": tools.hexes(maker.leaves),
                "leaf_hashes": tools.hexes(tools.tree_hash([leaf]) for leaf in maker.leaves),
                "checkpoints": [_checkpoint(maker, each) for each in (0, OLD_SIZE, size)],
            },
        },
        "inclusion": {
            "description": "of each event in the tree of all seven",
            "input": {"public_key": tools.public_key(tools.KEY_SEED).hex()},
            "expected": [text[index] for index in range(size)],
        },
        "consistency": {
            "description": "of the tree of three with that of seven, and of each with itself",
            "input": {"public_key": tools.public_key(tools.KEY_SEED).hex()},
            "expected": [
                old,
                *(tools.canonical(maker.consistency(each, each)).decode() for each in (OLD_SIZE, size)),
            ],
        },
        "refused": {"description": "proofs that must not be accepted", "cases": refused(maker)},
    }


def _checkpoint(maker: Maker, size: int) -> Json:
    canonical = maker.tools.canonical
    statement, heads = maker.statement(size), maker.heads(size)
    return {
        "statement": canonical(statement).decode(),
        "sha256": maker.tools.sha256(canonical(statement)).hex(),
        "without_heads": canonical(maker.signed(statement)).decode(),
        "signed": canonical(maker.signed(statement) | {"heads": heads}).decode(),
    }


def refused(maker: Maker) -> list[Json]:
    """Each differs from a good one in one thing, at `place`."""
    size = len(EVENTS)
    inclusion, consistency = maker.inclusion(1, size), maker.consistency(OLD_SIZE, size)
    other_tenant = maker.signed(
        maker.statement(OLD_SIZE) | {"tenant_id": maker.tools.id_of("another tenant")}
    )
    changes: list[tuple[str, Json, str, Change]] = [
        ("another event", inclusion, "/path", lambda it: it["event"].update(actor_id="user:nobody")),
        ("another leaf", inclusion, "/path", lambda it: it.update(leaf_index=2)),
        ("no such leaf", inclusion, "/path", lambda it: it.update(leaf_index=size)),
        ("a shorter path", inclusion, "/path", lambda it: it["path"].pop()),
        ("a longer path", inclusion, "/path", lambda it: it["path"].append("00" * 32)),
        ("a swapped path", inclusion, "/path", lambda it: it["path"].reverse()),
        ("another root", inclusion, "/checkpoint/signature",
         lambda it: it["checkpoint"].update(tree_root="00" * 32)),
        ("another size", inclusion, "/checkpoint/signature", lambda it: it["checkpoint"].update(tree_size=8)),
        ("another checkpoint", inclusion, "/path",
         lambda it: it.update(checkpoint=maker.signed(maker.statement(OLD_SIZE)))),
        ("of another tenant", inclusion, "/event/tenant_id",
         lambda it: it["event"].update(tenant_id=maker.tools.id_of("another tenant"))),
        ("a first event that follows one", inclusion, "/event/prev_event_hash",
         lambda it: it["event"].update(aggregate_version=1)),
        ("an unknown member", inclusion, "", lambda it: it.update(note="hello")),
        ("an unknown version", inclusion, "/proof_version", lambda it: it.update(proof_version="2")),
        ("a checkpoint of the first version", inclusion, "/checkpoint/checkpoint_version",
         lambda it: it["checkpoint"].update(checkpoint_version="BPC-CHECKPOINT-1")),
        ("the trees swapped", consistency, "/path", lambda it: it.update(old=it["new"], new=it["old"])),
        ("a shorter proof", consistency, "/path", lambda it: it["path"].pop()),
        ("a swapped proof", consistency, "/path", lambda it: it["path"].reverse()),
        ("an old tree of others", consistency, "/new/tenant_id", lambda it: it.update(old=other_tenant)),
        ("another old root", consistency, "/old/signature", lambda it: it["old"].update(tree_root="00" * 32)),
        ("another new size", consistency, "/new/signature", lambda it: it["new"].update(tree_size=6)),
    ]  # fmt: skip
    cases = []
    for name, good, place, change in changes:
        proof = copy.deepcopy(good)
        change(proof)
        cases.append({"name": name, "place": place, "proof": maker.tools.canonical(proof).decode()})
    return cases
