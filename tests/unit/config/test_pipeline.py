"""The settings of the pipeline: keys and their secrets, folders, limits, the compiler's name."""

from base64 import b64encode
from pathlib import Path

import pytest

from bpc_worker import wiring
from bpc_worker.config.load import describe, load
from bpc_worker.core.base.build_id import COMPILER_BUILD_ID
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY
from bpc_worker.keys.keyring import DEVELOPMENT_DISCLOSURE_KEY, DEVELOPMENT_SEED
from tests.support.configuration import file, problem, problems

SEED = bytes(range(32))
SALT = b"disclosure-key-of-32-bytes-or-so"
TEXT, SALT_TEXT = b64encode(SEED).decode(), b64encode(SALT).decode()
SEED_ENV, ID_ENV = "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", "BPC_SIGNING_KEY_ID"
STATUS_SEED_ENV, STATUS_ID_ENV = "BPC_SIGNING_STATUS_PRIVATE_KEY", "BPC_SIGNING_STATUS_KEY_ID"
PAIR = {SEED_ENV: TEXT, ID_ENV: "2027-01"}
PROD = {"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql://u@localhost/d"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory in which no configuration file lies about."""
    monkeypatch.chdir(tmp_path)


def test_nothing_is_needed_in_development() -> None:
    settings = load(env={})

    assert (settings.signing.private_key, settings.signing.key_id) == (None, None)
    assert settings.disclosure.key is None
    assert settings.compiler_build_id == COMPILER_BUILD_ID
    assert settings.ingest.folders == ()
    limits = settings.limits
    assert (limits.document_bytes, limits.payload_bytes) == (20_971_520, 131_072)
    assert (limits.proof_bytes, limits.receipt_bytes) == (262_144, 16_384)


@pytest.mark.parametrize("env", [{}, PROD], ids=["dev", "prod"])
def test_keys_come_as_base64_from_the_environment(env: dict[str, str]) -> None:
    settings = load(env=env | PAIR | {"BPC_DISCLOSURE_KEY": f" {SALT_TEXT}\n"})

    assert (settings.signing.private_key, settings.signing.key_id) == (SEED, "2027-01")
    assert settings.disclosure.key == SALT
    assert settings.sources["signing.private_key"] == f"env:{SEED_ENV}"


def test_keys_come_from_files_and_from_the_configuration_file() -> None:
    Path("seed").write_text(f"{TEXT}\n")
    Path("salt").write_text(SALT_TEXT)
    env = {f"{SEED_ENV}_FILE": "seed", ID_ENV: "k", "BPC_DISCLOSURE_KEY_FILE": "salt"}
    in_yaml = file(f"signing: {{private_key: {TEXT}, key_id: k}}\ndisclosure: {{key: {SALT_TEXT}}}")

    for settings in (load(env=env), load(env={}, config_path=in_yaml)):
        assert settings.signing.private_key == SEED
        assert settings.disclosure.key == SALT
    assert load(env=env).sources["signing.private_key"] == f"env:{SEED_ENV}_FILE"


def test_a_key_in_two_places_or_in_a_file_that_is_not_there_is_refused() -> None:
    Path("seed").write_text(TEXT)
    twice = problem(PAIR | {f"{SEED_ENV}_FILE": "seed"})
    nowhere = problem({f"{SEED_ENV}_FILE": "gone", ID_ENV: "k"})

    assert f"{SEED_ENV}_FILE too" in twice
    assert "cannot read 'gone'" in nowhere
    assert TEXT not in twice


def test_a_key_id_is_no_secret_and_has_no_file() -> None:
    assert "unknown variable" in problem({f"{ID_ENV}_FILE": "x"})


BAD_SEEDS = [b64encode(SEED[:31]).decode(), b64encode(SEED + b"!").decode(), SEED.hex(), "hunter2", TEXT[:-1]]


@pytest.mark.parametrize("value", [*BAD_SEEDS, TEXT.replace("=", ""), f"{TEXT[:8]} {TEXT[8:]}"])
def test_a_seed_is_exactly_32_bytes_and_a_bad_one_is_not_shown(value: str) -> None:
    text = problem({SEED_ENV: value, ID_ENV: "k"})

    assert text.startswith(f"signing.private_key (env:{SEED_ENV}): *** is not allowed")
    assert "allowed: exactly 32 bytes in base64" in text
    assert value not in text


@pytest.mark.parametrize("size", [0, 31, 1025])
def test_a_disclosure_key_has_32_bytes_at_least(size: int) -> None:
    value = b64encode(b"s" * size).decode() or "="
    text = problem({"BPC_DISCLOSURE_KEY": value})

    assert text.startswith("disclosure.key (env:BPC_DISCLOSURE_KEY): *** is not allowed")
    assert "allowed: 32 to 1024 bytes in base64" in text


@pytest.mark.parametrize(
    ("env", "has", "lacks"),
    [
        ({SEED_ENV: TEXT}, f"signing.private_key (env:{SEED_ENV})", "signing.key_id"),
        ({ID_ENV: "k"}, f"signing.key_id (env:{ID_ENV})", "signing.private_key"),
        (
            {STATUS_SEED_ENV: TEXT},
            f"signing.status_private_key (env:{STATUS_SEED_ENV})",
            "signing.status_key_id",
        ),
        ({STATUS_ID_ENV: "k"}, f"signing.status_key_id (env:{STATUS_ID_ENV})", "signing.status_private_key"),
    ],
)
def test_a_key_and_its_name_go_together(env: dict[str, str], has: str, lacks: str) -> None:
    assert problem(env) == f"{has}: also needs {lacks}; `bpc-worker keys generate` tells both"


@pytest.mark.parametrize(
    ("seed", "key_id", "said"),
    [
        (TEXT, "s", "signing.status_private_key"),
        (b64encode(SALT).decode(), PAIR[ID_ENV], "signing.status_key_id"),
    ],
)
def test_status_lists_have_a_key_of_their_own(seed: str, key_id: str, said: str) -> None:
    found = problem(PAIR | {STATUS_SEED_ENV: seed, STATUS_ID_ENV: key_id})

    assert found.startswith(said)
    assert "status lists have a key of their own" in found


def test_a_bad_seed_is_not_also_a_missing_one() -> None:
    [only] = problems({SEED_ENV: "hunter2", ID_ENV: "k"})

    assert "is not allowed" in only


KNOWN_SEED, KNOWN_SALT, KNOWN_SEALING = (
    b64encode(key).decode()
    for key in (DEVELOPMENT_SEED, DEVELOPMENT_DISCLOSURE_KEY, DEVELOPMENT_SEALING_KEY[1])
)


@pytest.mark.parametrize(
    ("env", "key"),
    [
        (PAIR | {ID_ENV: "development"}, "signing.key_id"),
        (PAIR | {SEED_ENV: KNOWN_SEED}, "signing.private_key"),
        ({"BPC_DISCLOSURE_KEY": KNOWN_SALT}, "disclosure.key"),
        (PAIR | {"BPC_SIGNING_FORMER_KEYS": f'{{"old": "{KNOWN_SEED}"}}'}, "signing.former_keys"),
        (
            {
                "BPC_SIGNING_COMMAND": '{"argv": ["/usr/bin/sign"]}',
                "BPC_SIGNING_PUBLIC_KEY": Ed25519Signer("", DEVELOPMENT_SEED).public_key.hex(),
                ID_ENV: "hsm-1",
            },
            "signing.public_key",
        ),
        ({"BPC_WEBHOOK_SEALING_KEYS": f"a:{SALT_TEXT},b:{KNOWN_SEALING}"}, "webhook.sealing_keys"),
    ],
)
def test_production_refuses_the_keys_of_development(env: dict[str, str], key: str) -> None:
    load(env=env)  # in development everything goes
    text = problem(env | PROD)

    assert text.startswith(f"{key} (env:")
    assert "the development key is known to everybody, and env is prod" in text


COMMAND = {
    "BPC_SIGNING_COMMAND": '{"argv": ["/usr/bin/sign", "--pin=1234"], "timeout_seconds": 5}',
    "BPC_SIGNING_PUBLIC_KEY": Ed25519Signer("", SEED).public_key.hex(),
    ID_ENV: "hsm-1",
}


def test_a_command_can_sign() -> None:
    settings = load(env=COMMAND)

    assert settings.signing.command is not None
    assert settings.signing.command.argv == ("/usr/bin/sign", "--pin=1234")
    assert settings.signing.public_key == b64encode(Ed25519Signer("", SEED).public_key).decode()
    assert ("signing.command", "/usr/bin/sign", "env:BPC_SIGNING_COMMAND") in describe(settings)
    assert "1234" not in f"{describe(settings)} {settings!r}"


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (COMMAND | PAIR, "one of them signs; give only that one"),
        ({**COMMAND, ID_ENV: ""}, "also needs signing.key_id"),
        ({**COMMAND, "BPC_SIGNING_PUBLIC_KEY": ""}, "also needs signing.public_key"),
        (PAIR | {"BPC_SIGNING_PUBLIC_KEY": "00" * 31 + "7f"}, "also needs signing.command"),
        ({**COMMAND, "BPC_SIGNING_PUBLIC_KEY": "00" * 32}, "of small order"),
        ({**COMMAND, "BPC_SIGNING_PUBLIC_KEY": "AAAA"}, "it has 3 bytes"),
        ({**COMMAND, "BPC_SIGNING_COMMAND": '{"argv": ["sign"]}'}, "must be an absolute path"),
        ({**COMMAND, "BPC_SIGNING_COMMAND": "/usr/bin/sign"}, "*** is not allowed"),
    ],
)
def test_a_command_that_cannot_sign_is_refused(env: dict[str, str], said: str) -> None:
    assert said in "\n".join(problems(env))


def test_former_keys_are_read_and_shown_by_name_only() -> None:
    settings = load(env=PAIR | {"BPC_SIGNING_FORMER_KEYS": f'{{"2026-1": "{SALT_TEXT}"}}'})

    assert settings.signing.former_keys == {"2026-1": SALT}
    assert ("signing.former_keys", "2026-1", "env:BPC_SIGNING_FORMER_KEYS") in describe(settings)
    assert repr(SALT) not in repr(settings)
    assert load(env={}).signing.former_keys == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"2027-01": "' + SALT_TEXT + '"}', "2027-01 is the key that signs now"),
        ('{"k": "' + SALT_TEXT[:-4] + '"}', "key 1: not exactly 32 bytes in base64"),
        ('{"k": "hunter2"}', "key 1: not exactly 32 bytes in base64"),
        ("hunter2", "*** is not allowed"),
        ('{"": "' + SALT_TEXT + '"}', "a key id has"),
        ('{"' + SALT_TEXT + '": "2026-1"}', "key 1: not exactly 32 bytes in base64"),
    ],
)
def test_bad_former_keys_are_refused_and_not_shown(value: str, said: str) -> None:
    text = problem(PAIR | {"BPC_SIGNING_FORMER_KEYS": value})

    assert said in text
    assert SALT_TEXT[:8] not in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "value",
    [f"2027:{TEXT}, 2026:{SALT_TEXT}", f'{{"2027": "{TEXT}", "2026": "{SALT_TEXT}"}}'],
    ids=["pairs", "JSON"],
)
def test_sealing_keys_have_names_and_the_first_one_seals(value: str) -> None:
    settings = load(env={"BPC_WEBHOOK_SEALING_KEYS": value})

    assert [*settings.webhook.sealing_keys.items()] == [("2027", SEED), ("2026", SALT)]
    shown = f"{describe(settings)} {settings!r}"
    assert ("webhook.sealing_keys", "2027, 2026", "env:BPC_WEBHOOK_SEALING_KEYS") in describe(settings)
    assert TEXT not in shown
    assert repr(SEED) not in shown


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (TEXT, "key 1: the name of a key matches"),
        ("[]", "key 1: the name of a key matches"),
        ('{"a": "hunter2"}', "key 1: it is not base64"),
        ("a:hunter2", "it is not base64"),
        (f"a:{b64encode(bytes(31)).decode()}", "it has 31 bytes"),
        (f"a b:{TEXT}", "the name of a key matches"),
        (f":{TEXT}", "the name of a key matches"),
    ],
)
def test_other_sealing_keys_are_refused_without_being_shown(value: str, words: str) -> None:
    text = problem({"BPC_WEBHOOK_SEALING_KEYS": value})

    assert words in text
    assert "hunter2" not in text
    assert TEXT not in text


def test_production_starts_without_keys_for_those_who_do_not_sign() -> None:
    assert load(env=PROD).signing.private_key is None


def test_a_build_id_that_the_core_does_not_know_is_refused() -> None:
    assert load(env={"BPC_COMPILER_BUILD_ID": COMPILER_BUILD_ID}).compiler_build_id == COMPILER_BUILD_ID
    text = problem({"BPC_COMPILER_BUILD_ID": "bpc-core-99"})

    assert text == (
        "compiler_build_id (env:BPC_COMPILER_BUILD_ID): bpc-core-99 is unknown here; "
        f"this release compiles as {COMPILER_BUILD_ID}"
    )
    assert "text of 1 to 100" in problem({"BPC_COMPILER_BUILD_ID": "x" * 101})


def test_the_default_build_id_is_the_cores() -> None:
    from bpc_worker.core.passport import compile as core

    assert load(env={}).compiler_build_id == core.COMPILER_BUILD_ID


def test_folders_are_a_list_of_absolute_paths() -> None:
    assert load(env={"BPC_INGEST_FOLDERS": "/in, /srv/my docs,/in"}).ingest.folders == ("/in", "/srv/my docs")
    in_yaml = file("ingest: {folders: [/in, /out]}")
    assert load(env={}, config_path=in_yaml).ingest.folders == ("/in", "/out")


@pytest.mark.parametrize("value", ["in", "/in,out", "/in,,/out", "/a\nb", "/" + "x" * 4096])
def test_other_folders_are_refused(value: str) -> None:
    assert "absolute paths of folders" in problem({"BPC_INGEST_FOLDERS": value})


@pytest.mark.parametrize("name", ["document", "payload", "proof", "receipt"])
@pytest.mark.parametrize("value", ["0", "-1", "1e6", "10000000000", "much"])
def test_a_limit_is_a_whole_number_within_reason(name: str, value: str) -> None:
    text = problem({f"BPC_LIMITS_{name.upper()}_BYTES": value})

    assert text.startswith(f"limits.{name}_bytes (env:BPC_LIMITS_{name.upper()}_BYTES): {value!r}")
    assert load(env={f"BPC_LIMITS_{name.upper()}_BYTES": "2048"})


def test_everything_is_shown_but_no_secret() -> None:
    env = PAIR | {
        "BPC_DISCLOSURE_KEY": SALT_TEXT,
        "BPC_INGEST_FOLDERS": "/in,/out",
        "BPC_LIMITS_DOCUMENT_BYTES": "1000",
    }
    settings = load(env=env)
    rows = describe(settings)

    assert ("signing.private_key", "***", f"env:{SEED_ENV}") in rows
    assert ("signing.key_id", "2027-01", f"env:{ID_ENV}") in rows
    assert ("disclosure.key", "***", "env:BPC_DISCLOSURE_KEY") in rows
    assert ("compiler_build_id", COMPILER_BUILD_ID, "default") in rows
    assert ("ingest.folders", "/in, /out", "env:BPC_INGEST_FOLDERS") in rows
    assert ("limits.document_bytes", "1000", "env:BPC_LIMITS_DOCUMENT_BYTES") in rows
    assert ("limits.receipt_bytes", "16384", "default") in rows
    shown = f"{rows} {settings!r}"
    for secret in (SEED, SALT):
        assert repr(secret) not in shown
        assert secret.hex() not in shown
        assert b64encode(secret).decode() not in shown


def test_the_option_of_the_commands_is_no_unknown_variable() -> None:
    assert set(load(env={"BPC_TENANT": "acme"}).sources.values()) == {"default"}


def test_a_folder_may_name_its_tenant() -> None:
    settings = load(env={"BPC_INGEST_FOLDERS": "acme=/in/acme, Other Ltd.=/in/other,/in"})

    assert settings.ingest.folders == ("acme=/in/acme", "Other Ltd.=/in/other", "/in")
    policy = wiring.policy(settings)
    assert policy.ingest_folders == (Path("/in"),)
    assert policy.ingest_folders_of == {"acme": (Path("/in/acme"),), "Other Ltd.": (Path("/in/other"),)}


@pytest.mark.parametrize("value", ["=/in", "acme=in", "acme=", "a\nb=/in", "x" * 201 + "=/in"])
def test_a_folder_of_nobody_is_refused(value: str) -> None:
    assert "absolute paths of folders" in problem({"BPC_INGEST_FOLDERS": value})
