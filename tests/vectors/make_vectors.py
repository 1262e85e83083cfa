"""Writes the golden vectors: input, expected bytes and expected hash of every format.

    python tests/vectors/make_vectors.py           writes the files anew
    python tests/vectors/make_vectors.py --check   compares; exit code 1 and a diff if they differ

A second implementation from the text of docs/formats.md: it uses the standard library alone and imports
nothing of the product. A changed byte here is a new version of a format, never a new vector. To add a
format, write a function that returns {file name: content} and name it in FORMATS at the end; or a module
beside this one, with such a function `vectors`.
"""

import base64
import calendar
import difflib
import hashlib
import importlib.util
import json
import sys
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent

Vectors = dict[str, dict[str, Any]]


def canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def digest_of(name: str) -> str:
    """A hash that stands for content which the vector does not need."""
    return sha256(name.encode()).hex()


def id_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://example.org/bpc-worker/vectors/{name}"))


# Ed25519, RFC 8032 section 5.1, in affine coordinates: slow, and short enough to be read.

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
L = 2**252 + 27742317777372353535851937790883648493
Point = tuple[int, int]
IDENTITY: Point = (0, 1)


def add(one: Point, two: Point) -> Point:
    (x1, y1), (x2, y2) = one, two
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def times(number: int, point: Point) -> Point:
    result = IDENTITY
    while number:
        result = add(result, point) if number & 1 else result
        point, number = add(point, point), number >> 1
    return result


def x_of(y: int, odd: int) -> int | None:
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P != u:
        x = x * pow(2, (P - 1) // 4, P) % P
    if v * x * x % P != u:
        return None
    return x if x % 2 == odd else -x % P


def base_point() -> Point:
    y = 4 * pow(5, -1, P) % P
    x = x_of(y, 0)
    assert x is not None
    return x, y


def packed(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def challenge(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % L


def secret_scalar(seed: bytes) -> tuple[int, bytes]:
    half, prefix = hashlib.sha512(seed).digest()[:32], hashlib.sha512(seed).digest()[32:]
    return int.from_bytes(half, "little") & ((1 << 254) - 8) | 1 << 254, prefix


def public_key(seed: bytes) -> bytes:
    return packed(times(secret_scalar(seed)[0], base_point()))


@cache
def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = secret_scalar(seed)
    nonce = challenge(prefix, message)
    r = packed(times(nonce, base_point()))
    s = (nonce + challenge(r, public_key(seed), message) * scalar) % L
    return r + s.to_bytes(32, "little")


def small_order_points() -> list[Point]:
    """The eight points that 8 sends to the identity."""
    for y in range(2, 100):
        x = x_of(y, 0)
        torsion = times(L, (x, y)) if x is not None else IDENTITY
        if times(4, torsion) != IDENTITY:
            return [times(number, torsion) for number in range(8)]
    raise AssertionError("no point of order 8 below y = 100")


def fitting_signature(key: bytes, point: Point) -> tuple[bytes, bytes]:
    """A message and a signature that a verifier without our checks accepts under a key of small order."""
    for number in range(1000):
        message = sha256(bytes([number % 256, number // 256]))
        for r in small_order_points():
            if add(r, times(challenge(packed(r), key, message), point)) == IDENTITY:
                return message, packed(r) + bytes(32)
    raise AssertionError("no message fits")


# RFC 9162, section 2.1, by its own recursion.


def split(size: int) -> int:
    return 1 << (size - 1).bit_length() - 1


def tree_hash(leaves: list[bytes]) -> bytes:
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0])
    k = split(len(leaves))
    return sha256(b"\x01" + tree_hash(leaves[:k]) + tree_hash(leaves[k:]))


def path(index: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*path(index, leaves[:k]), tree_hash(leaves[k:])]
    return [*path(index - k, leaves[k:]), tree_hash(leaves[:k])]


def subproof(old: int, leaves: list[bytes], *, whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [tree_hash(leaves)]
    k = split(len(leaves))
    if old <= k:
        return [*subproof(old, leaves[:k], whole=whole), tree_hash(leaves[k:])]
    return [*subproof(old - k, leaves[k:], whole=False), tree_hash(leaves[:k])]


def hexes(hashes: Iterable[bytes]) -> list[str]:
    return [each.hex() for each in hashes]


def merkle_vectors() -> Vectors:
    leaves = [bytes(range(length * 16, length * 16 + length)) for length in range(9)]
    sizes = range(1, len(leaves) + 1)
    return {
        "trees": {
            "description": "RFC 9162 trees over the first n of these leaves",
            "input": {"leaves": hexes(leaves)},
            "expected": {
                "roots": hexes(tree_hash(leaves[:size]) for size in range(len(leaves) + 1)),
                "inclusion": [
                    {"size": size, "index": index, "path": hexes(path(index, leaves[:size]))}
                    for size in sizes
                    for index in range(size)
                ],
                "consistency": [
                    {"old": old, "new": new, "proof": hexes(subproof(old, leaves[:new], whole=True))}
                    for new in sizes
                    for old in range(1, new + 1)
                ],
            },
        }
    }


def fact(fact_type: str, fact_key: str, content: str = "") -> dict[str, str]:
    return {"fact_type": fact_type, "fact_key": fact_key, "payload_hash": digest_of(content or fact_key)}


def snapshot_vector(description: str, facts: list[dict[str, str]]) -> dict[str, Any]:
    """`facts` in any order; the order of UTF-8 bytes is made here by comparing bytes."""
    ordered = sorted(facts, key=lambda each: (each["fact_type"].encode(), each["fact_key"].encode()))
    salt = views().snapshot_salt().hex()
    named = {"snapshot_version": "BPC-SNAPSHOT-2", "snapshot_id": id_of("snapshot")}
    data = canonical({**named, "salt": salt, "facts": ordered})
    return {
        "description": description,
        "input": {"snapshot_id": id_of("snapshot"), "salt": salt, "facts": facts},
        "expected": {"canonical": data.decode(), "sha256": sha256(data).hex()},
    }


def item_vector() -> dict[str, Any]:
    """The snapshot of a battery beside the two facts of its model, of which it replaces one."""
    model = snapshot_vectors()["two_facts"]
    sealed = json.loads(model["expected"]["canonical"])
    own = [fact("Pcf", "pcf:cell", "another"), fact("Identity", "identity")]
    salt = digest_of("the salt of an item")[:32]
    named = {"snapshot_version": "BPC-SNAPSHOT-2", "snapshot_id": id_of("item snapshot"), "salt": salt}
    ordered = sorted(own, key=lambda each: (each["fact_type"].encode(), each["fact_key"].encode()))
    reference = {
        "snapshot_id": sealed["snapshot_id"],
        "salt": sealed["salt"],
        "snapshot_hash": model["expected"]["sha256"],
        "without": [each for each in sealed["facts"] if each["fact_type"] == "Pcf"],
    }
    data = canonical({**named, "facts": ordered, "model": reference})
    return {
        "description": "a battery that has its own in place of one fact of its model, two_facts",
        "input": {"snapshot_id": named["snapshot_id"], "salt": salt, "facts": own, "model": "two_facts"},
        "expected": {"canonical": data.decode(), "sha256": sha256(data).hex()},
    }


def snapshot_vectors() -> Vectors:
    odd_names = ["z", "Z", "a", "aa", "ä", "\uffff", "\U00010000", 'quote " and \\', "tab\t", "\u2028"]
    return {
        "two_facts": snapshot_vector(
            "the example of docs/formats.md", [fact("Pcf", "pcf:cell"), fact("Battery", "battery:X")]
        ),
        "no_facts": snapshot_vector("a snapshot may be empty", []),
        "order_of_bytes": snapshot_vector(
            "facts stand in the order of UTF-8 bytes, which is not that of UTF-16 units",
            [fact(fact_type, key) for fact_type in ("Part", "Pär") for key in odd_names],
        ),
    }


VERSION_NAMESPACE = uuid.UUID("bab0bf6b-76b4-5211-ad98-fa54de20165b")
KEY_SEED = sha256(b"the signing key of the vectors")
DISCLOSURE_KEY = sha256(b"the disclosure key of the vectors")
BUILD, LAW_DATE, ISSUED_AT = "bpc-core-2", "2027-02-18", "2027-03-01T09:30:00.000000Z"


def version_name() -> bytes:
    ids = [id_of(name) for name in ("tenant", "passport", "snapshot", "rules")]
    return canonical([*ids, BUILD, LAW_DATE, ISSUED_AT])


def version_id() -> str:
    data = bytearray(
        hashlib.sha1(VERSION_NAMESPACE.bytes + version_name(), usedforsecurity=False).digest()[:16]
    )
    data[6], data[8] = data[6] & 0x0F | 0x50, data[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(data)))


def views() -> Any:
    """What makes views; it knows the members of the receipt, and the receipt the hash of its fields."""
    return loaded("view_vectors").Maker(sys.modules[__name__])


def receipt_members() -> dict[str, Any]:
    return {
        "receipt_version": "BPC-RECEIPT-2",
        "issued_at": ISSUED_AT,
        "tenant_id": id_of("tenant"),
        "passport_version_id": version_id(),
        "passport_id": id_of("passport"),
        "battery_product_id": id_of("product"),
        "snapshot_id": id_of("snapshot"),
        "snapshot_hash": snapshot_vectors()["two_facts"]["expected"]["sha256"],
        "rule_package_version_id": id_of("rules"),
        "dsl_sha256": digest_of("rules"),
        "tests_sha256": digest_of("tests"),
        "compiler_build_id": BUILD,
        "payload_hash": digest_of("payload"),
        "proof_root_hash": digest_of("proof"),
        "fields_sha256": sha256(canonical(views().fields())).hex(),
        "signature_alg": "ED25519",
        "signing_key_id": "vectors-2027",
        "law_date": LAW_DATE,
        "unique_identifier": "https://id.example.com/01/09520123456788/21/SN417",
        "issuer": "https://id.example.com",
        "status_list_uri": "https://id.example.com/status/7",
        "status_list_idx": 4711,
        "rules_name": "battery_core",
        "audiences": ["authorities", "commission", "legitimate_interest", "public"],
    }


def refused_receipts(signed: bytes) -> list[dict[str, Any]]:
    """Each differs from the signed example in one thing, at `place`."""
    good = json.loads(signed)
    upper = {"tenant_id": good["tenant_id"].upper(), "payload_hash": good["payload_hash"].upper()}
    changes: dict[str, object] = {
        "receipt_version": "BPC-RECEIPT-1",
        "issued_at": "2027-03-01T09:30:00Z",
        "law_date": "2027-02-29",
        "signature_alg": "Ed25519",
        "signing_key_id": "",
        "compiler_build_id": None,
        "passport_version_id": id_of("another version"),
        "signature": good["signature"].rstrip("="),
        "unique_identifier": "https://id.example.com/p?serial=417",
        "issuer": "https://id.example.org",
        "status_list_uri": "https://id.example.com/status/07",
        "status_list_idx": "4711",
        "audiences": ["public", "authorities"],
        "rules_name": "",
        **upper,
    }
    one_wrong = [
        {"place": f"/{name}", "signed": canonical({**good, name: value}).decode()}
        for name, value in changes.items()
    ]
    missing = canonical({name: value for name, value in good.items() if name != "law_date"})
    unknown = canonical({**good, "note": "hello"})
    return [
        *one_wrong,
        *({"place": "", "signed": each.decode()} for each in (missing, unknown, signed + b"\n")),
    ]


def receipt_vectors() -> Vectors:
    data = canonical(receipt_members())
    signature = base64.b64encode(sign(KEY_SEED, sha256(data))).decode()
    signed = canonical({**receipt_members(), "signature": signature})
    return {
        "example": {
            "description": "the example of docs/formats.md",
            "input": receipt_members(),
            "expected": {
                "passport_version_name": version_name().decode(),
                "passport_version_id": version_id(),
                "canonical": data.decode(),
                "sha256": sha256(data).hex(),
                "signed": signed.decode(),
            },
        },
        "refused": {
            "description": "signed receipts that must not be read",
            "cases": refused_receipts(signed),
        },
    }


RFC_8032 = [  # section 7.1: seed, message, signature
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555f"
            "b8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da08"
            "5ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18"
            "ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        hashlib.sha512(b"abc").hexdigest(),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909"
            "351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"
        ),
    ),
]


def signature_case(seed: bytes, message: bytes) -> dict[str, str]:
    signed = {"public_key": public_key(seed).hex(), "signature": sign(seed, message).hex()}
    return {"seed": seed.hex(), "message": message.hex(), **signed}


def rfc_8032_cases() -> list[dict[str, str]]:
    cases = [signature_case(bytes.fromhex(seed), bytes.fromhex(message)) for seed, message, _ in RFC_8032]
    assert [case["signature"] for case in cases] == [signature for *_, signature in RFC_8032]
    return cases


def refused(
    fault: str, key: bytes, message: bytes, signature: bytes, *, lenient: bool = False
) -> dict[str, Any]:
    """`lenient`: a verifier without the checks of BPC-SIGN-1 accepts it."""
    texts = {"public_key": key.hex(), "message": message.hex(), "signature": signature.hex()}
    return {"fault": fault, **texts, "lenient": lenient}


def small_order_cases() -> list[dict[str, Any]]:
    cases = []
    for x, y in small_order_points():
        for spelled in (y, y + P):
            for odd in {x & 1} if x else {0, 1}:
                key = (spelled | odd << 255).to_bytes(33, "little")
                if key[32:] == b"\0" and spelled < 2**255:
                    once = key[:32] == packed((x, y))
                    fault = "KEY_OF_SMALL_ORDER" if once else "KEY_NOT_CANONICAL"
                    fitting = fitting_signature(key[:32], (x, y))
                    cases.append(refused(fault, key[:32], *fitting, lenient=True))
    return cases


def sign_vectors() -> Vectors:
    message = sha256(canonical(receipt_members()))
    key, good = public_key(KEY_SEED), sign(KEY_SEED, message)
    s = int.from_bytes(good[32:], "little")
    off_curve = next(y for y in range(2, 100) if x_of(y, 0) is None).to_bytes(32, "little")
    return {
        "example": {
            "description": "the signature of the example receipt",
            "input": {"seed": KEY_SEED.hex(), "receipt_hash": message.hex()},
            "expected": {"public_key": key.hex(), "signature": good.hex()},
        },
        "rfc8032": {"description": "RFC 8032, section 7.1", "cases": rfc_8032_cases()},
        "refused": {
            "description": "keys and signatures that must not be accepted, and why",
            "cases": [
                refused("WRONG_LENGTH", key[:31], message, good),
                refused("WRONG_LENGTH", key, message, good[:63]),
                refused("WRONG_LENGTH", key, message, good + b"\0"),
                refused("S_NOT_CANONICAL", key, message, good[:32] + (s + L).to_bytes(32, "little")),
                refused("S_NOT_CANONICAL", key, message, good[:32] + L.to_bytes(32, "little")),
                refused("BAD_SIGNATURE", key, sha256(message), good),
                refused("BAD_SIGNATURE", key, message.hex().encode(), good),
                refused("KEY_NOT_ON_CURVE", off_curve, message, good),
                *small_order_cases(),
            ],
        },
    }


def event_id(event: dict[str, Any], digest: bytes) -> str:
    moment = datetime.fromisoformat(event["occurred_at"])
    whole, micro = calendar.timegm(moment.utctimetuple()), moment.microsecond
    data = bytearray((whole * 1000 + micro // 1000).to_bytes(6, "big") + digest[6:16])
    data[6] = 0x70 | data[6] % 16
    data[8] = 0x80 | data[8] % 64
    return str(uuid.UUID(bytes=bytes(data)))


def event_vectors() -> Vectors:
    events: list[dict[str, Any]] = []
    prev = None
    steps = ["PASSPORT_COMPILED", "PASSPORT_SIGNED", "PASSPORT_ACTIVATED"]
    for version, event_type in enumerate(steps, start=1):
        event = {
            "tenant_id": id_of("tenant"),
            "aggregate_type": "PassportVersion",
            "aggregate_id": version_id(),
            "aggregate_version": version,
            "event_type": event_type,
            "occurred_at": f"2027-03-01T09:30:0{version}.250000Z",
            "actor_id": "worker:compiler-1",
            "payload_hash": digest_of(event_type),
            "prev_event_hash": prev,
        }
        data = canonical(event)
        prev = sha256(data).hex()
        expected = {"canonical": data.decode(), "sha256": prev, "event_id": event_id(event, sha256(data))}
        events.append({"input": event, "expected": expected})
    return {"chain": {"description": "the example of docs/formats.md and two that follow", "events": events}}


def qr_vectors() -> Vectors:
    members = receipt_members()
    hashes = {
        "ph": bytes.fromhex(members["payload_hash"]),
        "pr": bytes.fromhex(members["proof_root_hash"]),
        "rh": sha256(canonical(members)),
    }
    spelled = [f"{name}={base64.b32encode(each).decode().rstrip('=')}" for name, each in hashes.items()]
    text = "|".join(["BPC1", f"pv={members['passport_version_id']}", *spelled])
    assert len(text) == 212
    return {
        "example": {
            "description": "the code of the example receipt",
            "input": {
                "passport_version_id": members["passport_version_id"],
                **{k: v.hex() for k, v in hashes.items()},
            },
            "expected": {"text": text},
        }
    }


def beside(name: str, *tools: object) -> Callable[[], Vectors]:
    """The function of a module in this folder."""

    def make() -> Vectors:
        made: Vectors = loaded(name).vectors(*tools)
        return made

    return make


def loaded(name: str) -> ModuleType:
    """A module in this folder: from its file, as nothing else can be imported here."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FORMATS: dict[str, Callable[[], Vectors]] = {
    "cjson": beside("cjson_vectors"),
    "draw": beside("draw_vectors"),
    "proof": beside("proof_vectors"),
    "merkle": merkle_vectors,
    "snapshot": lambda: snapshot_vectors() | {"of_an_item": item_vector()},
    "view": beside("view_vectors", sys.modules[__name__]),
    "receipt": receipt_vectors,
    "sign": sign_vectors,
    "event": event_vectors,
    "event_tree": beside("event_tree_vectors", sys.modules[__name__]),
    "qr": qr_vectors,
}


def files() -> dict[Path, str]:
    return {
        HERE / folder / f"{name}.json": json.dumps(content, ensure_ascii=False, indent=2) + "\n"
        for folder, make in FORMATS.items()
        for name, content in make().items()
    }


def check(expected: dict[Path, str]) -> int:
    present = {path: path.read_text() for folder in FORMATS for path in (HERE / folder).glob("*.json")}
    differing = [path for path in sorted(expected | present) if expected.get(path) != present.get(path)]
    for path in differing:
        one, two = (text.get(path, "").splitlines(keepends=True) for text in (present, expected))
        name = str(path.relative_to(HERE))
        sys.stdout.writelines(difflib.unified_diff(one, two, f"{name} (file)", f"{name} (made now)"))
    return 1 if differing else 0


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    expected = files()
    if arguments:
        return check(expected)
    for path, text in expected.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
