"""The secrets that handlers work with: usable, absent with words, and never printed."""

import copy
import pickle
from uuid import UUID

import pytest
from bpc_worker.core.passport.disclosure import disclosure_seed

from bpc_worker import wiring
from bpc_worker.config import load as config
from bpc_worker.core.base.signing import Ed25519Signer
from bpc_worker.jobs.errors import Permanent
from bpc_worker.keys.keyring import (
    DEVELOPMENT_DISCLOSURE_KEY,
    DEVELOPMENT_KEY_ID,
    DEVELOPMENT_SEED,
    Keyring,
    development_signer,
)
from bpc_worker.keys.signers import LocalSigner

SEED = bytes(range(32))
KEY = b"d" * 32
VERSION = UUID(int=7)


def test_it_signs_with_its_key_and_makes_seeds_from_its_disclosure_key() -> None:
    signer = LocalSigner("k1", SEED)
    ring = Keyring(signer, KEY)

    assert ring.signer is signer
    assert ring.disclosure_seed(VERSION) == disclosure_seed(KEY, VERSION)
    assert ring.disclosure_seed(VERSION) != ring.disclosure_seed(UUID(int=8))


def test_a_former_key_signs_what_names_it_and_nothing_else() -> None:
    now, former = LocalSigner("k2", SEED), LocalSigner("k1", KEY)
    ring = Keyring(now, None, [former])

    assert ring.signer is now
    assert ring.signer_of("k1") is former
    assert ring.signer_of("k2") is now
    assert ring.signer_of("k3") is now
    assert KEY.hex() not in repr(ring)


def test_a_missing_signing_key_is_said_with_the_remedy() -> None:
    with pytest.raises(Permanent, match="BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64") as caught:
        _ = Keyring(None, KEY).signer

    assert caught.value.code == "SIGNING_KEY_MISSING"


def test_a_missing_disclosure_key_is_said_with_the_remedy() -> None:
    with pytest.raises(Permanent, match="BPC_DISCLOSURE_KEY") as caught:
        Keyring(development_signer(), None).disclosure_seed(VERSION)

    assert caught.value.code == "CONFIG_MISSING"


def test_it_cannot_be_printed_pickled_or_copied() -> None:
    ring = Keyring(LocalSigner("k1", SEED), KEY)

    assert "k1" in repr(ring)
    for secret in (SEED, KEY):
        assert secret.hex() not in repr(ring)
        assert repr(secret) not in f"{ring} {ring!r}"
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="secrets"):
            act(ring)


def test_the_development_key_is_the_same_everywhere() -> None:
    signer = development_signer()

    assert signer.key_id == DEVELOPMENT_KEY_ID
    assert signer.public_key == Ed25519Signer("", DEVELOPMENT_SEED).public_key
    assert len({DEVELOPMENT_SEED, DEVELOPMENT_DISCLOSURE_KEY}) == 2


PAIR = {
    "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "BPC_SIGNING_KEY_ID": "k1",
}
PROD = {"BPC_ENV": "prod", "BPC_DATABASE_URL": "postgresql://u@localhost/d"}
DISCLOSURE = {"BPC_DISCLOSURE_KEY": "ZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGQ="}


def test_development_has_keys_of_its_own() -> None:
    ring = wiring.keyring(config.load(env={}))

    assert ring.signer.public_key == development_signer().public_key
    assert ring.disclosure_seed(VERSION) == disclosure_seed(DEVELOPMENT_DISCLOSURE_KEY, VERSION)


@pytest.mark.parametrize("env", [{}, PROD], ids=["dev", "prod"])
def test_configured_keys_are_used(env: dict[str, str]) -> None:
    ring = wiring.keyring(config.load(env=env | PAIR | DISCLOSURE))

    assert ring.signer.key_id == "k1"
    assert ring.signer.public_key == Ed25519Signer("", SEED).public_key
    assert ring.disclosure_seed(VERSION) == disclosure_seed(KEY, VERSION)


def test_production_has_no_key_that_nobody_configured() -> None:
    bare = wiring.keyring(config.load(env=PROD))
    signing_only = wiring.keyring(config.load(env=PROD | PAIR))

    with pytest.raises(Permanent, match="signing key"):
        _ = bare.signer
    for ring in (bare, signing_only):
        with pytest.raises(Permanent, match="disclosure key"):
            ring.disclosure_seed(VERSION)
