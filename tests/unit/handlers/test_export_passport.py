"""What an export may be asked for, and what it is refused before anything is read."""

import json
from uuid import UUID

import msgspec
import pytest

from bpc_worker.handler_api import NewJob
from bpc_worker.testing import drain
from handlers.export_passport import SPEC, ExportPassport

ONE = str(UUID(int=1))
VIEW = {"format": "view", "passport_version_id": ONE}


def several(count: int) -> list[str]:
    return [str(UUID(int=number)) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"format": "view"}, "give passport_version_id or passport_version_ids"),
        (VIEW | {"passport_version_ids": [ONE]}, "give passport_version_id or passport_version_ids"),
        ({"format": "view", "passport_version_ids": []}, "length >= 1"),
        ({"format": "view", "passport_version_ids": several(1001)}, "length <= 1000"),
        ({"format": "view", "passport_version_ids": [ONE, ONE]}, "names a version twice"),
        (VIEW | {"format": "paper"}, "Invalid enum value 'paper'"),
        (VIEW | {"format": "bundle", "audience": "public"}, "a bundle has no audience"),
        (VIEW | {"format": "label", "audience": "public"}, "a label has no audience"),
        *(
            (VIEW | {"folder": folder}, "folder: ")
            for folder in ("..", "a/../..", "/etc", "a//b", ".", "", "a\0b", "a\nb", "x" * 101)
        ),
    ],
)
def test_a_payload_that_is_none_is_refused_with_the_reason(payload: dict[str, object], why: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(json.dumps(payload), type=ExportPassport)

    assert why in str(refused.value)


@pytest.mark.parametrize("folder", [None, "a", "2027/february", "..."])
def test_up_to_a_thousand_versions_and_a_folder_below(folder: str | None) -> None:
    payload = {"format": "dpp", "passport_version_ids": several(1000), "audience": "public", "folder": folder}

    found = msgspec.json.decode(json.dumps(payload), type=ExportPassport)

    assert [str(each) for each in found.versions] == several(1000)


async def test_without_an_export_folder_it_is_said_what_to_set() -> None:
    done = await drain(SPEC, NewJob(type="EXPORT_PASSPORT", payload=VIEW))

    [job] = done.jobs
    assert (job.code, job.attempts) == ("CONFIG_MISSING", 1)
    assert "BPC_EXPORT_FOLDER" in str(job.message)
