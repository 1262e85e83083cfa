"""Vectors of the salts and of BPC-VIEW-1, from the text of docs/formats.md.

Like make_vectors.py, which hands over its own tools, it imports nothing of the product.
"""

import base64
import hmac
import json
from types import ModuleType
from typing import Any

Json = dict[str, Any]
Names = tuple[str, ...]

AUDIENCES = ("authorities", "commission", "legitimate_interest", "public")
FIELDS: list[tuple[str, Names, Any]] = [
    ("identity.category", AUDIENCES, "EV"),
    ("materials.hazardous", ("commission", "legitimate_interest"), False),
    ("tests.report", ("authorities", "commission"), {"empty": "withheld", "reason": "not displayed"}),
]
STATEMENTS: list[tuple[str, Names, Any]] = [
    (
        "MASS_BALANCE",
        ("authorities", "commission"),
        {"holds": True, "message": "within 2 %", "severity": "warn"},
    ),
]
SETS = [*(names for _, names, _ in [*FIELDS, *STATEMENTS]), ("commission",)]  # the last of them empty


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Maker:
    def __init__(self, tools: ModuleType) -> None:
        self.tools = tools
        self.seed = hmac.digest(tools.DISCLOSURE_KEY, tools.version_id().encode(), "sha256")

    def salt(self, label: bytes) -> bytes:
        return hmac.digest(self.seed, label, "sha256")[:16]

    def snapshot_salt(self) -> bytes:
        label = b"\0snapshot\0" + self.tools.id_of("snapshot").encode()
        return hmac.digest(self.tools.DISCLOSURE_KEY, label, "sha256")[:16]

    def disclosure(self, salt: bytes, name: str, value: object) -> str:
        return base64url(self.tools.canonical([base64url(salt), name, value]))

    def digest(self, disclosure: str) -> str:
        return base64url(self.tools.sha256(disclosure.encode()))

    def of_set(self, names: Names) -> list[str]:
        """The disclosure of a set, and those of what is in it, in the order of UTF-8 bytes of their paths."""
        held = {
            path: self.disclosure(self.salt(path.encode()), path, value)
            for path, audiences, value in FIELDS
            if audiences == names
        }
        for code, audiences, value in STATEMENTS:
            if audiences == names:
                salt = self.salt(b"\0statement\0" + code.encode())
                held[f"compliance.{code}"] = self.disclosure(salt, f"compliance.{code}", value)
        inner = [held[path] for path in sorted(held, key=str.encode)]
        salt = self.salt(b"\0set\0" + ",".join(names).encode())
        return [self.disclosure(salt, "of", {"_sd": sorted(map(self.digest, inner))}), *inner]

    def sets(self) -> list[Names]:
        return sorted(set(SETS))

    def fields(self) -> list[Json]:
        return [{"audiences": [*names], "_sd": [self.digest(self.of_set(names)[0])]} for names in self.sets()]

    def claims(self) -> Json:
        receipt = self.tools.receipt_members()
        return {
            "_sd_alg": "sha-256",
            "iss": receipt["issuer"],
            "sub": receipt["unique_identifier"],
            "iat": 1803893400,  # 2027-03-01T09:30:00Z
            "law_date": receipt["law_date"],
            "rules": {"name": receipt["rules_name"], "sha256": receipt["dsl_sha256"]},
            "passport_version_id": receipt["passport_version_id"],
            "status": {"status_list": {"idx": receipt["status_list_idx"], "uri": receipt["status_list_uri"]}},
            "vct": "urn:bpc:battery-passport:1",
            "receipt_hash": self.tools.sha256(self.tools.canonical(receipt)).hex(),
            "audiences": receipt["audiences"],
            "fields": self.fields(),
        }

    def jws(self, claims: Json | None = None, **header: str) -> str:
        """Signed with the key of the vectors, whatever it is."""
        head = {"alg": "EdDSA", "kid": "vectors-2027", "typ": "dc+sd-jwt"} | header
        parts = [base64url(self.tools.canonical(each)) for each in (head, claims or self.claims())]
        message = ".".join(parts).encode()
        return f"{message.decode()}.{base64url(self.tools.sign(self.tools.KEY_SEED, message))}"

    def view(self, *audiences: str) -> str:
        kept = [names for names in self.sets() if set(names) & set(audiences)]
        return "".join(
            f"{part}~" for part in [self.jws(), *(d for names in kept for d in self.of_set(names))]
        )

    def example(self) -> Json:
        listed = [{"path": path, "audiences": [*names], "value": value} for path, names, value in FIELDS]
        stated = [{"code": code, "audiences": [*names], **value} for code, names, value in STATEMENTS]
        fields = self.tools.canonical(self.fields())
        claims = self.tools.canonical(self.claims())
        return {
            "description": "the example of docs/formats.md",
            "input": {
                "disclosure_key": self.tools.DISCLOSURE_KEY.hex(),
                "passport_version_id": self.tools.version_id(),
                "snapshot_id": self.tools.id_of("snapshot"),
                "fields": listed,
                "statements": stated,
                "sets": [[*names] for names in self.sets()],
            },
            "expected": {
                "seed": self.seed.hex(),
                "salts": self.salts(),
                "fields": fields.decode(),
                "fields_sha256": self.tools.sha256(fields).hex(),
                "disclosures": [text for names in self.sets() for text in self.of_set(names)],
                "claims": claims.decode(),
                "jws": self.jws(),
                "whole": self.view(*AUDIENCES),
                "views": {audience: self.view(audience) for audience in AUDIENCES},
            },
        }

    def salts(self) -> Json:
        return {
            "snapshot": self.snapshot_salt().hex(),
            "payload": self.salt(b"\0payload").hex(),
            "proof": self.salt(b"\0proof").hex(),
            "sets": {
                ",".join(names): self.salt(b"\0set\0" + ",".join(names).encode()).hex()
                for names in self.sets()
            },
            "fields": {path: self.salt(path.encode()).hex() for path, _, _ in FIELDS},
            "statements": {
                code: self.salt(b"\0statement\0" + code.encode()).hex() for code, _, _ in STATEMENTS
            },
        }

    def refused(self) -> list[Json]:
        """Each differs from the public view in one thing, at `place`."""
        public = self.view("public")
        signed, around, category, _ = public.split("~")
        other = self.view("authorities").split("~")[2]  # of a set that the public does not see
        last = signed[-1]
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        at = letters.index(last) & ~15
        spellings = [letters[at + number] for number in range(16) if letters[at + number] != last]
        changed = self.disclosure(self.salt(b"identity.category"), "identity.category", "LMT")
        cases = [
            ("a changed disclosure", "/disclosures/1", f"{signed}~{around}~{changed}~"),
            ("a doubled disclosure", "/disclosures/2", f"{signed}~{around}~{category}~{category}~"),
            ("a foreign disclosure", "/disclosures/2", f"{signed}~{around}~{category}~{other}~"),
            ("a missing disclosure", "/disclosures", f"{signed}~{around}~"),
            ("a missing set", "/disclosures/0", f"{signed}~{category}~"),
            ("nothing but what is signed", "/disclosures", f"{signed}~"),
            ("an empty disclosure", "/disclosures/2", f"{public}~"),
            ("no ~ at the end", "/end", public[:-1]),
            ("a line end", "/end", f"{public}\n"),
            ("a key binding", "/end", f"{public}eyJ"),
            ("a padded disclosure", "/disclosures/1", f"{signed}~{around}~{category}=~"),
            ("another signature", "/signature", public.replace(signed, self.flipped(signed))),
            ("a shorter signature", "/signature", public.replace(signed, signed[:-4])),
            ("four parts", "/jws", public.replace(signed, f"{signed}.x")),
            ("another algorithm", "/header/alg", public.replace(signed, self.jws(alg="none"))),
            ("another type", "/header/typ", public.replace(signed, self.jws(typ="JWT"))),
            ("an unknown key", "/signature", public.replace(signed, self.jws(kid="nobody"))),
            ("another issuer", "/claims/iss", self.resigned(iss="https://other.example")),
            ("an identifier with a query", "/claims/sub", self.resigned(sub="https://id.example.com/p?a=b")),
            ("another hash function", "/claims/_sd_alg", self.resigned(_sd_alg="sha-512")),
            ("another kind of document", "/claims/vct", self.resigned(vct="urn:other")),
            ("an unknown claim", "/claims", self.resigned(exp=1)),
            ("unsorted audiences", "/claims/audiences", self.resigned(audiences=["public", "authorities"])),
            ("unsorted sets", "/claims/fields", self.resigned(fields=self.fields()[::-1])),
        ]
        cases += [(f"the last letter {each}", "/signature", f"{signed[:-1]}{each}~{around}~{category}~")
                  for each in spellings]  # fmt: skip
        return [{"name": name, "place": place, "text": text} for name, place, text in cases]

    def resigned(self, **changes: object) -> str:
        """The public view with other claims, signed all the same."""
        _, around, category, _ = self.view("public").split("~")
        return f"{self.jws({**self.claims(), **changes})}~{around}~{category}~"

    def flipped(self, signed: str) -> str:
        message, _, signature = signed.rpartition(".")
        data = bytearray(base64.urlsafe_b64decode(signature + "=="))
        data[0] ^= 1
        return f"{message}.{base64url(bytes(data))}"


def vectors(tools: ModuleType) -> dict[str, Json]:
    maker = Maker(tools)
    refused = {"description": "texts that are not the public view", "cases": maker.refused()}
    return {"example": maker.example(), "refused": json.loads(json.dumps(refused))}
