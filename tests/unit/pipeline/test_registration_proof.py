"""Proofs of registration: JSON and CSV alike, every mistake with its place."""

from datetime import UTC, datetime

import pytest

from bpc_worker.jobs.errors import Permanent
from bpc_worker.pipeline.registration_proof import Registered, read_proof

URL, DIGEST = "https://id.volt.eu/p/0123456789ABCDEF", "ab" * 32
JSON = (
    f'{{"registrations": [{{"unique_identifier": "{URL}", "registration_id": "REG-1",'
    f' "registered_at": "2027-02-18T13:00:00+01:00", "passport_sha256": "{DIGEST}"}}]}}'
)
CSV = (
    "unique_identifier,registration_id,registered_at,passport_sha256\n"
    f"{URL},REG-1,2027-02-18T12:00:00Z,{DIGEST.upper()}\n"
)


@pytest.mark.parametrize("text", [JSON, CSV])
def test_both_forms_say_the_same(text: str) -> None:
    assert read_proof(text.encode()) == [
        Registered(
            unique_identifier=URL,
            registration_id="REG-1",
            registered_at=datetime(2027, 2, 18, 12, tzinfo=UTC),
            passport_sha256=bytes.fromhex(DIGEST),
        )
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (JSON.replace("REG-1", ""), "/registrations/0/registration_id: registration_id: is empty"),
        (CSV.replace(DIGEST.upper(), "ab"), "line 2, column 4: passport_sha256: a SHA-256 of 64"),
        ('{"registrations": [7]}', "/registrations/0: an object in braces is expected"),
        ('{"registrations": 7}', "/registrations: a list of registrations is expected"),
        ('{"registrations": []}', "it tells of no registration"),
        ("unique_identifier\n", "columns registration_id, registered_at, passport_sha256 are missing"),
        ("", "holds no header"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(Permanent, match="VALIDATION_ERROR") as caught:
        read_proof(text.encode())

    assert said in str(caught.value)
