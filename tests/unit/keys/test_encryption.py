"""A sealed secret opens in the row it was sealed for, with a key that is there, and nowhere else."""

import copy
import pickle
from uuid import UUID

import pytest

from bpc_worker.handler_api import Permanent
from bpc_worker.keys.encryption import DEVELOPMENT_SEALING_KEY, Sealer

TENANT, ROW, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)
OLD, NEW = ("2026", b"o" * 32), ("2027", b"n" * 32)


def sealed(sealer: Sealer) -> bytes:
    return sealer.seal(b"secret", tenant_id=TENANT, row_id=ROW)


def test_what_is_sealed_opens_again_and_is_never_the_same_bytes() -> None:
    sealer = Sealer([NEW])
    first, second = sealed(sealer), sealed(sealer)

    assert first != second
    assert b"secret" not in first
    assert first[2:6] == b"2027"  # the key's name stands in front
    assert sealer.open(first, tenant_id=TENANT, row_id=ROW) == b"secret"


@pytest.mark.parametrize(("tenant_id", "row_id"), [(OTHER, ROW), (TENANT, OTHER), (ROW, TENANT)])
def test_in_another_row_or_with_another_tenant_it_does_not_open(tenant_id: UUID, row_id: UUID) -> None:
    sealer = Sealer([NEW])

    with pytest.raises(Permanent, match="FORBIDDEN"):
        sealer.open(sealed(sealer), tenant_id=tenant_id, row_id=row_id)


def test_no_byte_of_it_can_be_changed_and_nothing_be_cut_off() -> None:
    sealer = Sealer([NEW])
    made = sealed(sealer)
    for at in range(len(made)):
        changed = made[:at] + bytes([made[at] ^ 1]) + made[at + 1 :]
        for wrong in (changed, made[:at]):
            with pytest.raises(Permanent):
                sealer.open(wrong, tenant_id=TENANT, row_id=ROW)


def test_keys_are_replaced_one_by_one() -> None:
    old = sealed(Sealer([OLD]))
    both = Sealer([NEW, OLD])

    assert both.open(old, tenant_id=TENANT, row_id=ROW) == b"secret"
    assert Sealer([NEW]).open(sealed(both), tenant_id=TENANT, row_id=ROW) == b"secret"
    with pytest.raises(Permanent, match=r"CONFIG_MISSING.*there are: 2027.*BPC_WEBHOOK_SEALING_KEYS"):
        Sealer([NEW]).open(old, tenant_id=TENANT, row_id=ROW)


def test_without_a_key_it_says_which_setting_is_missing() -> None:
    nobody = Sealer(())
    made = sealed(Sealer([DEVELOPMENT_SEALING_KEY]))

    with pytest.raises(Permanent, match="BPC_WEBHOOK_SEALING_KEYS"):
        sealed(nobody)
    with pytest.raises(Permanent, match="BPC_WEBHOOK_SEALING_KEYS"):
        nobody.open(made, tenant_id=TENANT, row_id=ROW)


def test_a_sealer_is_neither_printed_nor_copied() -> None:
    sealer = Sealer([NEW])

    assert repr(sealer) == "Sealer(2027)"
    for leak in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="holds keys"):
            leak(sealer)
