"""What compiling a passport costs, beside the least it could: `python -m tests.bench.bench_compile [rounds]`.

CPU time, not time on the wall, as the machine may be busy with something else. The ways take turns within
each round, so that whatever slows the processor slows all of them alike; read the ratios.
"""

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from statistics import median
from time import process_time_ns

from bpc_worker.core.base import canonical_json, derivation
from bpc_worker.core.proof.verify import verify_proof
from bpc_worker.core.rules.facts import FactSet
from bpc_worker.core.rules.module import load
from tests.support.generated import LAW_DATE, Inputs, inputs, parts, rule_text

ROUNDS = 40
FIELDS, FACTS = 80, 200
GOAL_MS, GOAL_RATIO = 25, 3

Way = Callable[[], object]


def node_contents(data: bytes) -> list[dict[str, object]]:
    """What is hashed of each step."""
    nodes = json.loads(data)["nodes"]
    hashes = [node["hash"] for node in nodes]
    return [
        {
            "children_hashes": [hashes[child] for child in node["children"]],
            "data": node["data"],
            "id": node["id"],
            "type": node["type"],
        }
        for node in nodes
    ]


def milliseconds(way: Way) -> float:
    start = process_time_ns()
    way()
    return (process_time_ns() - start) / 1e6


def in_turns(ways: dict[str, Way], rounds: int) -> dict[str, float]:
    """The median of each."""
    for way in ways.values():
        way()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(milliseconds(way))
    return {name: median(taken) for name, taken in times.items()}


def passport(facts: int) -> Inputs:
    return inputs(rule_text(FIELDS, facts), parts(facts))


def compare_with_floors(rounds: int) -> None:
    given = passport(FACTS)
    made = given.compiled()
    contents = node_contents(made.proof)
    prepared = [canonical_json.encode(content) for content in contents]
    held = FactSet(given.facts)
    ways: dict[str, Way] = {
        "compile, with proof": given.compiled,
        "floor: hash its steps, bytes prepared": lambda: [sha256(data).hexdigest() for data in prepared],
        "floor: encode and hash its steps": lambda: [
            sha256(canonical_json.encode(content)).hexdigest() for content in contents
        ],
        "the same, without checking the values": lambda: [
            sha256(derivation.data_bytes(content)).hexdigest() for content in contents
        ],
        "verify, arithmetic": lambda: verify_proof(made.proof, law_date=LAW_DATE),
        "verify, full": lambda: verify_proof(made.proof, law_date=LAW_DATE, facts=held),
        "parse and check the rules": lambda: load(given.rules.source),
    }
    found = in_turns(ways, rounds)
    ours = found["compile, with proof"]
    print(f"{FIELDS} fields, {FACTS} facts: {len(contents)} steps, proof of {len(made.proof)} bytes")
    print(f"{'median of ' + str(rounds) + ' rounds':40} {'ms':>8}  {'compile : this':>14}")
    for name, taken in found.items():
        print(f"{name:40} {taken:8.2f}  {ours / taken:14.2f}")
    ratio = ours / found["floor: encode and hash its steps"]
    goal = f"goal: {GOAL_MS} ms and {GOAL_RATIO} x the floor 'encode and hash'"
    print(f"{goal}; found {ours:.1f} ms, {ratio:.2f} x\n")


def show_linearity(rounds: int) -> None:
    sizes = {count: passport(count) for count in (100, 1_000, 10_000)}
    found = in_turns({str(count): given.compiled for count, given in sizes.items()}, max(3, rounds // 8))
    print(f"{'facts':>8} {'compile, ms':>12} {'µs per fact':>12}")
    for count, taken in found.items():
        print(f"{count:>8} {taken:12.1f} {taken * 1000 / int(count):12.1f}")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    compare_with_floors(rounds)
    show_linearity(rounds)


if __name__ == "__main__":
    main()
